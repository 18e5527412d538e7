"""Words and phrases that check_style.py bans from comments, messages and pages.

check_style.py holds every file to PLAIN_WORDS, except those under PLAIN_WORDS_PENDING. Text in
backquotes or double quotes is skipped, because it names or quotes something.
"""
import io
import re
import tokenize

# Prefixes of paths that are not held to the words yet. An entry goes once its files are clean.
PLAIN_WORDS_PENDING = ()

FIRST_LINE_WORDS_MIN = 4

PEOPLE = ("anyone attacker attackers author authors caller callers client clients contributor "
          "contributors developer developers everyone human humans maintainer maintainers newcomer "
          "newcomers operator operators people person persons someone user users").split()
NOT_PEOPLE = "".join(rf"(?<!\b{word} )(?<!\b{word}, )" for word in PEOPLE)
AUXILIARY = ("is|was|are|were|has|have|had|becomes?|became|comes?|came|goes|went|can|cannot|could|"
             "may|might|must|would|will|does|did|do|follows|remains|stands|stays|lies")
BEGIN = r"(?:^|(?<=[.;:] ))"  # where a sentence begins
NOT_AFTER_BE = "".join(rf"(?<!\b{word} )" for word in "is are be been was were stay stays".split())

# (pattern, what to write in its place). A pattern looks at the text of one comment, message or
# paragraph, its lines joined by blanks; upper and lower case are equal except in (?-i:...).
PLAIN_WORDS = (
    (NOT_PEOPLE + r"\b(?:who|whom|whoever|whomever)\b", "name the thing: the thread that holds it"),
    (r"\b(?:some|no|any|every)body\b", "name the thing: no thread, another request, every user"),
    (r"\b(?:bring|brings|bringing|brought)\b[^.]{0,40}\bnear\b", "prefetch"),
    (r"\bof late\b", "recently"),
    (r"\blikewise\b", "also, or repeat the fact"),
    (r"\bthat which\b", "name the noun: the block that ..."),
    (r"\bthose (?:that|who|whom|which|whose)\b", "name the noun: the sequences that ..."),
    (r"\bso (?:many|much|few)\b(?! (?:as|that)\b)", "name the number: `n` rows"),
    (r"\bso (?:long|large|small|short|far|big) an?\b", "name the size: a piece of `n` bytes"),
    (r"\bhad (?:best|better)\b", "should"),
    (r"(?<=[.;:] )(?-i:Of)\b(?! course\b)", "begin with the subject"),
    (r"^(?:of|(?-i:that|whose)) ", "begin with a noun: tokens of the prompt"),
    (BEGIN + r"(?-i:The same) (?:as|but|for|in|of|on|when|where|with|without)\b",
     "say what it does: as `f`, for bytes"),
    (NOT_AFTER_BE + r"(?<!\ball )\bthe same(?=[.,;:)]|$)", "name the noun: the same bytes"),
    (BEGIN + rf"(?-i:What) (?:{AUXILIARY})\b(?![^.;:]*\?)", "begin with a noun: Rows that ..."),
    (r"\bwhat(?:ever)? (?:is|was) (?:there|left|missing|new|known|under way)\b",
     "name the noun: the remaining rows"),
    (r"\b(?:become|becomes|became|come|comes|came) of\b", "happens to, or name the result"),
    (r"\bone another\b", "each other"),
    (r"\b(?:whose|its|their) turn\b", "say what runs next; a turn is a message of a chat"),
    (r"\b(?:give|gives|gave|giving|given) way\b", "preempt, yield"),
    (r"\b(?:let|lets|letting) in\b", "admit, accept"),
    (r"\b(?:go|goes|going|went|gone) on\b", "continue"),
    (r"\b(?:but|save) for\b", "except"),
    (r"\bbe (?:it|they)\b", "whether, even if"),
    (r"\bnothing of\b", "none of, no part of"),
    (r"\b(?:it|which|that|they) (?:is|are) none\b", "say what it is instead"),
    (r"\b(?:albeit|amongst|hence|henceforth|hereby|hitherto|thence|thereby|therein|thereof|"
     r"thereupon|upon|whence|whereby|wherein|whereof|wherewith|whilst)\b", "use a plain word"),
    (r"\bhowever (?:many|much|long|large|small|few|often|late)\b", "any number of, at any length"),
    (r"\bat hand\b", "current, available"),
    (r"\bthe ones? of\b", "name the noun: the owner with ..."),
    (r"\bbe had\b", "is available"),
    (r"\bas of (?:`x*`|\w+\()", "those of `f`"),
    (r"(?<!choose )\bamong (?:them|these)(?=[.,;:)]|$)", "including"),
    (r"\bmend(?:s|ed|ing)?\b", "fix, repair"),
    (r"\bfor (?:want|lack) of\b", "because there is no"),
    (r"\b(?:rows?|tokens?|steps?|blocks?|requests?|those|ones) to come\b", "later rows"),
    (r"\bthe (?:latter|former)\b", "name it"),
)
COMPILED = tuple((re.compile(pattern, re.I), better) for pattern, better in PLAIN_WORDS)


def is_pending(path):
    """Whether the file at `path` is not held to the words yet."""
    return path.startswith(PLAIN_WORDS_PENDING)


def hits(source):
    """(line, message) for each phrase of PLAIN_WORDS in the source's text, in order of lines."""
    found = []
    for block in blocks(source):
        text = without_quotations(" ".join(line for _, line in block))
        starts, at = [], 0
        for _, line in block:
            starts.append(at)
            at += len(line) + 1
        for pattern, better in COMPILED:
            for match in pattern.finditer(text):
                line = max(k for k, start in enumerate(starts) if start <= match.start())
                words = " ".join(match[0].split())
                found.append((block[line][0], f'"{words}": {better}'))
    return sorted(found)


def without_quotations(text):
    """`text` with the contents of `...` and "..." as x, so that lengths stay."""
    def blank(match):
        return match[1] + "x" * len(match[2]) + match[1]

    return re.sub(r"([`\"])((?:(?!\1).){1,200})\1", blank, text)


def blocks(source):
    """Lists of (line, text): one for each comment, message of C++ and paragraph of Markdown."""
    if source.is_cxx:
        yield from cxx_comments(source)
        if source.parts[0] in ("src", "include", "examples") and not source.is_test:
            yield from cxx_messages(source)
    elif source.ending == ".md":
        yield from paragraphs(source)
    elif source.ending == ".py":
        yield from python_comments(source)
    elif source.ending in (".sh", ".cmake", "") or source.name == "CMakeLists.txt":
        yield from joined((n, match[1]) for n, line in enumerate(source.lines, 1)
                          if (match := re.match(r"\s*#(?!!) ?(.*)", line)))


def joined(lines):
    """Blocks of the (line, text) whose lines follow each other."""
    block = []
    for number, text in lines:
        if block and (number != block[-1][0] + 1 or not text.strip()):
            yield block
            block = []
        if text.strip():
            block.append((number, text))
    if block:
        yield block


def cxx_comments(source):
    """Comments that fill lines are joined, comments behind code stand alone."""
    full, behind = [], []
    for number, line in enumerate(source.lines, 1):
        code = source.code_lines[number - 1] if number <= len(source.code_lines) else ""
        match = re.match(r"\s*(?://+<?|/\*+|\*(?!/))\s?(.*?)(?:\*/)?$", line)
        if match and not code.strip():
            full.append((number, match[1]))
            continue
        for match in re.finditer(r"(?<![:\"])//+<? (.*)$", line):
            if not code[match.start():].strip() and not in_literal(line, match.start()):
                behind.append([(number, match[1])])
                break
    yield from joined(full)
    yield from behind


def in_literal(line, at):
    """Whether column `at` lies in a string literal, by the quotes in front of it."""
    return len(re.findall(r'(?<!\\)"', line[:at])) % 2 == 1


def cxx_messages(source):
    """String literals with several words; literals that the compiler joins are one block."""
    if source.is_table or "template" in source.stem:
        return
    literals = []
    for number, line in enumerate(source.lines, 1):
        if line.lstrip().startswith(("#", "//", "*")) or 'R"' in line:
            continue
        for match in re.finditer(r'"((?:\\.|[^"\\])*)"', line):
            in_comment = re.search(r"//", line[:match.start()])
            if not in_comment:
                text = re.sub(r"\\(.)", lambda m: '"' if m[1] == '"' else " ", match[1])
                alone = line[:match.start()].strip() == ""
                literals.append((number, text.rstrip(), alone, line[match.end():].strip() == ""))
    block, open_end = [], False
    for number, text, alone, ends in literals:
        if block and not (alone and open_end and number == block[-1][0] + 1):
            yield from messages(block)
            block = []
        block.append((number, text))
        open_end = ends
    yield from messages(block)


def messages(block):
    """`block` where it has several words."""
    if block and re.search(r"\w \w", " ".join(text for _, text in block)):
        yield block


def paragraphs(source):
    """Paragraphs, list items and rows of tables, without code and addresses."""
    lines, fenced = [], False
    for number, line in enumerate(source.lines, 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            line = ""
        if fenced or line.startswith(("    ", ">")):
            line = ""
        line = re.sub(r"\]\([^)]*\)", lambda m: "]" + " " * (len(m[0]) - 1), line)
        begins = re.match(r"\s*([-*#|]|\d+\.) ", line) is not None
        if begins and lines and lines[-1][1].strip():
            yield from joined(lines)
            lines = []
        lines.append((number, re.sub(r"^\s*(?:[-*#]+|\d+\.) ", "", line)))
    yield from joined(lines)


def python_comments(source):
    """Comments and the strings that stand as statements, such as docstrings."""
    comments, texts, fresh = [], [], True
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            comments.append((token.start[0], token.string.lstrip("#! ")))
        elif token.type == tokenize.STRING and fresh:
            lines = token.string.strip("rb\"'").split("\n")
            texts += joined((token.start[0] + k, line) for k, line in enumerate(lines))
        if token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT):
            fresh = token.type == tokenize.NEWLINE
    yield from joined(comments)
    yield from texts
