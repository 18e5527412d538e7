#!/usr/bin/env python3
"""Checks the project's own style rules, which neither the compiler nor clang-format checks.

usage: check_style.py [ROOT]        ROOT defaults to the repository this script lies in
       check_style.py --plain-words PATH...

Prints one line per finding, `file:line: rule: message`, and exits 1 when there is any. It reads
text and does not parse C++. A rule stays silent on a line about which it could be wrong, so that
findings can be trusted. With --plain-words it prints the findings of plain_words.py in the given
files and folders, including pending ones.
"""
import os
import re
import sys

import plain_words as plain_words_table

FOLDERS = ("src", "include", "tests", "bench", "tools", "cmake", "scripts", ".ci", "docs",
           "examples")
CXX = (".h", ".hpp", ".cpp", ".cc", ".c", ".inl", ".cu", ".cuh")
TEXT = CXX + (".py", ".sh", ".cmake", ".md", ".json", ".txt", ".http", ".yml", ".yaml")
NO_ENDING = ("run",)  # scripts without an ending, such as .ci/run

FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 100
COLUMNS_MAX = 100

# What each folder under src/ may include besides itself. The same order as the libraries' DEPS.
DIRECT = {
    "base": [],
    "quant": ["base"],
    "load": ["quant"],
    "constraint": ["load"],
    "text": ["constraint"],
    "hub": ["load"],
    "backend": ["quant"],
    "kv": ["backend"],
    "model": ["load", "kv"],
    "runtime": ["model", "text"],
    "convert": ["model", "text"],
    "api": ["runtime"],
    "server": ["runtime"],
    "cli": ["server", "hub", "convert"],
    "bench": ["cli"],
}


# What each folder in src/server/ may include of src/server/ besides itself; no folder includes its
# parent, and the files right in src/server/ may include all.
SERVER_ROOMS = {
    "http": [],
    "common": ["http"],
    "openai": ["common", "http"],
    "anthropic": ["common", "http"],
    "operator": ["common", "http"],
}


def below(folder):
    """Every folder that `folder` may include, with itself."""
    found = {folder}
    for dep in DIRECT[folder]:
        found |= below(dep)
    return found


class Source:
    """One file: its lines as they are, and for C++ its code without comments, texts, directives."""

    def __init__(self, root, path):
        self.path = path
        self.name = os.path.basename(path)
        self.stem, self.ending = os.path.splitext(self.name)
        with open(os.path.join(root, path), encoding="utf-8", errors="replace", newline="") as f:
            self.text = f.read()
        self.lines = self.text.split("\n")
        if self.lines and self.lines[-1] == "":
            self.lines.pop()
        self.is_cxx = self.ending in CXX
        self.is_header = self.ending in (".h", ".hpp", ".cuh")
        self.is_table = self.stem.endswith("_tables")
        self.is_test = path.startswith("tests/") or "test" in self.stem.split("_")
        self.parts = path.split("/")
        self.folder = self.parts[1] if self.parts[0] == "src" and len(self.parts) > 2 else ""
        self.code = blank_non_code(self.text) if self.is_cxx else ""
        self.code_lines = self.code.split("\n")

    def line_of(self, offset):
        return self.code.count("\n", 0, offset) + 1


def blank_non_code(text):
    """`text` with comments, literals and preprocessor lines as spaces; line breaks stay."""
    out = list(text)

    def blank(a, b):
        for k in range(a, min(b, len(out))):
            if out[k] != "\n":
                out[k] = " "

    i, n, line_start = 0, len(text), True
    while i < n:
        c = text[i]
        if c == "\n":
            line_start = True
            i += 1
            continue
        if c == "#" and line_start:
            end = re.compile(r"(?:\\\n|[^\n])*").match(text, i).end()
        elif text.startswith("//", i):
            end = text.find("\n", i) if "\n" in text[i:] else n
        elif text.startswith("/*", i):
            end = text.find("*/", i + 2) + 2
            end = n if end < 2 else end
        elif c == '"' and re.search(r"(?<!\w)(?:u8|[uUL])?R$", text[max(0, i - 4):i]):
            close = ")" + text[i + 1:text.index("(", i)] + '"'
            end = text.find(close, i) + len(close)
            end = n if end < len(close) else end
        elif c == '"' or (c == "'" and not is_digit_separator(text, i)):
            end = re.compile(r"(?:\\.|[^\\%s\n])*.?" % c, re.S).match(text, i + 1).end()
        else:
            line_start = line_start and c.isspace()
            i += 1
            continue
        line_start = False
        blank(i, end)
        i = end
    return "".join(out)


def is_digit_separator(text, i):
    """Whether the apostrophe at `i` stands inside a number, as in 1'000."""
    start = i
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_'."):
        start -= 1
    return start < i and text[start].isdigit()


class Statement:
    """A piece of code at namespace or class scope that ends in ';' or opens a brace."""

    def __init__(self, head, start, end, scope, opens):
        self.head = " ".join(head.split())
        self.start, self.end = start, end  # offsets of the first character, and after the last
        self.scope = scope  # kinds of the enclosing braces: "namespace NAME", "class"
        self.opens = opens  # "", "namespace", "class", "function" or "other"


CLASS_HEAD = re.compile(r"^(?:template <.*> )?(?:typedef )?(class|struct|union|enum)\b"
                        r"(?!.*\) ?(const )?$)")
CONTROL = re.compile(r"^(if|for|while|switch|catch|do|else|return)\b")


def kind_of_brace(head):
    head = " ".join(head.split())
    if re.match(r"^(inline )?namespace\b", head) or re.match(r'^extern\b(?!.*\()', head):
        return "namespace"
    if CLASS_HEAD.match(head):
        return "class"
    if ")" in head and not CONTROL.match(head):
        return "function"
    return "other"


def statements(source):
    """The statements outside function bodies, by their ends; a function is one statement."""
    code, found, stack, start = source.code, [], [], 0

    def skip_space(k):
        while k < len(code) and code[k].isspace():
            k += 1
        return k

    i = 0
    while i < len(code):
        c = code[i]
        inside = any(kind in ("function", "other") for kind, _, _ in stack)
        if c == "{":
            head = code[start:i]
            stack.append((kind_of_brace(head) if not inside else "inner", skip_space(start), head))
            start = i + 1
        elif c == "}" and stack:
            kind, begin, head = stack.pop()
            if kind == "function" and code[skip_space(i + 1):][:1] in (",", "{"):
                start = begin  # braces in a constructor's initialisers: the head continues
                i += 1
                continue
            if kind != "inner":
                found.append(Statement(head, begin, i + 1, scope_of(stack), kind))
            start = i + 1
        elif c == ";":
            if not inside and code[start:i].strip():
                place = skip_space(start)
                found.append(Statement(code[start:i], place, i + 1, scope_of(stack), ""))
            start = i + 1
        elif c == ":" and re.search(r"\b(public|private|protected)\s*$", code[start:i]):
            start = i + 1
        i += 1
    return found


def scope_of(stack):
    return [" ".join(head.split()) if kind == "namespace" else kind for kind, _, head in stack]


# One function per rule: each yields (line, message).


def file_length(s):
    limited = s.is_cxx or s.ending in (".py", ".sh")
    if limited and len(s.lines) > FILE_LINES_MAX and not s.is_table:
        yield FILE_LINES_MAX + 1, f"{len(s.lines)} lines, at most {FILE_LINES_MAX}"


def function_length(s):
    for st in statements(s) if s.is_cxx else ():
        if st.opens != "function":
            continue
        first, last = s.line_of(st.start), s.line_of(st.end)
        if last - first + 1 <= FUNCTION_LINES_MAX:
            continue
        above, reason = first - 2, False
        while above >= 0 and s.lines[above].lstrip().startswith("//"):
            reason = reason or re.search(r"//+ long: \S", s.lines[above]) is not None
            above -= 1
        if not reason:
            yield first, (f"function of {last - first + 1} lines, at most {FUNCTION_LINES_MAX} "
                          "without a `// long:` reason above it")


def first_line_comment(s):
    if s.is_cxx and not (s.lines and re.match(r"// \S", s.lines[0])):
        yield 1, "the first line must be a // comment that says what the file is for"


def pragma_once(s):
    if s.is_header and not re.search(r"^#pragma once$", s.text, re.M):
        yield 1, "header without #pragma once"


def using_namespace(s):
    if s.is_header:
        yield from in_code(s, r"\busing\s+namespace\b", "using namespace in a header")


def in_code(s, pattern, message):
    for number, line in enumerate(s.code_lines, 1):
        if re.search(pattern, line):
            yield number, message


def in_lines(s, pattern, message):
    for number, line in enumerate(s.lines, 1):
        if re.search(pattern, line):
            yield number, message


def leftover_marker(s):
    words = r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b"
    if s.is_cxx:
        yield from in_lines(s, r"(//|/\*|^\s*\*).*" + words, "unfinished work belongs in an issue")
    elif s.ending in (".py", ".sh", ".cmake") or s.name == "CMakeLists.txt" or s.name in NO_ENDING:
        yield from in_lines(s, r"#.*" + words, "unfinished work belongs in an issue")


def regex_library(s):
    if s.is_cxx:
        yield from in_code(s, r"\bstd::(w?regex|basic_regex)\b", "std::regex is not used here")
        yield from in_lines(s, r"^\s*#\s*include\s*<regex>", "std::regex is not used here")


def environment(s):
    in_program = s.is_cxx and s.parts[0] in ("src", "include") and not s.is_test
    if in_program and s.folder not in ("cli", "bench"):
        yield from in_code(s, r"\b(secure_getenv|getenv|setenv|putenv)\s*\(",
                           "only commands, in cli/ and bench/, read the environment")


def iostream(s):
    if s.is_cxx and s.parts[0] in ("src", "include"):
        yield from in_lines(s, r"^\s*#\s*include\s*<iostream>", "<iostream> is not used here")


def parser_includes(s):
    if s.is_cxx and s.folder in ("load", "constraint", "text", "hub") and not s.is_test:
        yield from in_lines(s, r"^\s*#\s*include\s*<(cstdio|cstring|stdio\.h|string\.h)>",
                            "a parser reads through ByteReader, not through the C library")


def fast_math(s):
    flags = (r"-ffast-math|-Ofast\b|-funsafe-math|-fassociative-math|-ffp-contract=(?!off)"
             r"|\"fast-math\"")
    if s.is_cxx or s.ending == ".json":
        yield from in_lines(s, r"^(?!\s*//).*(" + flags + ")", "flag that changes results")
    elif s.ending in (".sh", ".cmake") or s.name == "CMakeLists.txt" or s.name in NO_ENDING:
        yield from in_lines(s, r"^[^#]*(" + flags + ")", "flag that changes results")


def machine_path(s):
    names = "|".join(("work", "root"))
    yield from in_lines(s, r"(?<![A-Za-z0-9_.\-}/])/(" + names + r")/",
                        "path of somebody's machine")


def whitespace(s):
    yield from in_lines(s, r"\t", "tab")
    yield from in_lines(s, r"[ \r]$", "trailing whitespace")
    if s.text and not s.text.endswith("\n"):
        yield len(s.lines), "no line break at the end of the file"


def columns(s):
    limited = s.is_cxx or s.ending in (".sh", ".py") or s.name in NO_ENDING
    for number, line in enumerate(s.lines if limited and not s.is_table else (), 1):
        if len(line) > COLUMNS_MAX and "://" not in line:
            yield number, f"{len(line)} columns, at most {COLUMNS_MAX}"


def waiting_test(s):
    if s.is_cxx and s.is_test:
        yield from in_code(s, r"\b(sleep_for|sleep_until|usleep|nanosleep)\b",
                           "a test must not sleep")


def disabled_test(s):
    if s.is_cxx:
        yield from in_code(s, r"\bDISABLED_", "disabled test")


def include_order(s):
    if not s.is_cxx or s.parts[0] != "src" or s.folder not in DIRECT:
        return
    allowed = below(s.folder)
    for number, line in enumerate(s.lines, 1):
        match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        if not match:
            continue
        target = match.group(1).split("/")
        if len(target) < 2 or ".." in target:
            yield number, f'write "{s.folder}/..." and not "{match.group(1)}"'
        elif target[0] in DIRECT and target[0] not in allowed and not s.is_test:
            yield number, f"{s.folder}/ must not include {target[0]}/, which lies above it"


def server_rooms(s):
    """Inside src/server/ includes go one way: http, common, endpoints, the files above them."""
    room = s.parts[2] if s.is_cxx and s.folder == "server" and len(s.parts) > 3 else ""
    if room not in SERVER_ROOMS:
        return
    for number, line in enumerate(s.lines, 1):
        match = re.match(r'\s*#\s*include\s*"server/(?:([^"/]+)/)?[^"/]+"', line)
        if match and match.group(1) != room and match.group(1) not in SERVER_ROOMS[room]:
            target = f"server/{match.group(1)}/" if match.group(1) else "server/ itself"
            yield number, f"server/{room}/ must not include {target}"


BACKEND_CHOOSER = "src/backend/backends.cpp"


def device_seam(s):
    """Code above the devices runs on any of them: only the chooser names the CPU's headers."""
    if s.parts[0] != "src" or s.is_test or s.path == BACKEND_CHOOSER:
        return
    if s.path.startswith("src/backend/cpu/"):
        return
    for number, line in enumerate(s.lines, 1):
        if re.match(r'\s*#\s*include\s*"backend/cpu/', line):
            yield number, f"only backend/cpu/ and {BACKEND_CHOOSER} include headers of backend/cpu/"


FUNCTION_HEAD = re.compile(r"^(?:template <.*> )?(?:requires .* )?(?:\[\[[^\]]*\]\] )?"
                           r"[\w:<>,&*\[\] ()]*?\b([a-z]\w*)\s*\(")
NOT_DOCUMENTED = re.compile(r"^(using|typedef|static_assert|extern|friend|namespace|template <> |"
                            r"template (?!<))|\boperator\b|\bdetail::")


def doc_comment(s):
    if not s.is_header or s.is_test or s.parts[0] not in ("src", "include"):
        return
    documented_line = -1  # where the newest documented one ends: one right below shares its comment
    for st in sorted(statements(s), key=lambda st: st.start):
        if not all(re.match(r"^(inline )?namespace \w", scope) for scope in st.scope):
            continue
        if any(re.search(r"\b(detail|internal)\b", scope) for scope in st.scope):
            continue
        is_type = st.opens == "class"
        before_paren = st.head.split("(")[0]
        is_function = (st.opens in ("", "function") and "(" in st.head and "=" not in before_paren
                       and FUNCTION_HEAD.match(st.head) is not None)
        if not (is_type or is_function) or NOT_DOCUMENTED.search(st.head):
            continue
        first, last = s.line_of(st.start), s.line_of(st.end)
        above = s.lines[first - 2].lstrip() if first >= 2 else ""
        if above.startswith("///") or "///<" in s.lines[first - 1] or first - 1 == documented_line:
            documented_line = last
            continue
        yield first, "public declaration without a /// comment: " + st.head[:60]


def first_line_words(s):
    """A rule of plain words, so without the files that are pending."""
    if s.is_cxx and s.lines and s.lines[0].startswith("// "):
        words = re.findall(r"\w[\w'.:/-]*", s.lines[0][3:])
        if len(words) < plain_words_table.FIRST_LINE_WORDS_MIN:
            yield 1, "the first line must say what the file is for, in four words or more"


def plain_words(s, pending=True):
    if not (pending and plain_words_table.is_pending(s.path)):
        yield from first_line_words(s)
        yield from plain_words_table.hits(s)


RULES = (file_length, function_length, first_line_comment, pragma_once, using_namespace,
         leftover_marker, regex_library, environment, iostream, parser_includes, fast_math,
         machine_path, whitespace, columns, waiting_test, disabled_test, include_order,
         server_rooms, device_seam, doc_comment, plain_words)


def sources(root):
    """Paths of the files to check, sorted, relative to the root."""
    found = [name for name in os.listdir(root)
             if os.path.splitext(name)[1] in TEXT and os.path.isfile(os.path.join(root, name))]
    for folder in FOLDERS:
        for place, names, files in os.walk(os.path.join(root, folder)):
            names[:] = [n for n in names if n not in ("corpus", "__pycache__")]
            for name in files:
                if os.path.splitext(name)[1] in TEXT or name in NO_ENDING:
                    found.append(os.path.relpath(os.path.join(place, name), root))
    return sorted(found)


TYPE = re.compile(r"^(?:class|struct|enum class) (\w+)(?: final)?(?: :.*)?(?: \{|$)")


def equal_types(root):
    """Types of the namespace `ingot` that two headers define: the linker would take one's functions
    for the other's."""
    known = {}
    for path in sources(root):
        if not re.fullmatch(r"src/.*(?<!_util)\.h", path):
            continue
        source = Source(root, path)
        if any(re.match(r"(?:inline )?namespace (?!ingot \{)", line) for line in source.lines):
            continue
        for number, line in enumerate(source.lines, 1):
            match = TYPE.match(line)
            if match and known.setdefault(match[1], path) != path:
                yield path, number, "equal-types", f"{match[1]} is defined in {known[match[1]]} too"


def check(root):
    """All findings as (path, line, rule, message)."""
    findings = list(equal_types(root))
    for path in sources(root):
        source = Source(root, path)
        for rule in RULES:
            name = rule.__name__.replace("_", "-")
            findings += [(path, line, name, message) for line, message in rule(source)]
    return findings


def check_plain_words(root, places):
    """The findings of plain words alone, in files that lie at or below `places`."""
    wanted = [os.path.relpath(os.path.abspath(place), root) for place in places]
    findings = []
    for path in sources(root):
        if any(place in (".", path) or path.startswith(place + "/") for place in wanted):
            source = Source(root, path)
            findings += [(path, line, "plain-words", message)
                         for line, message in plain_words(source, pending=False)]
    return findings


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    if sys.argv[1:2] == ["--plain-words"]:
        root = os.path.dirname(here)
        findings = check_plain_words(root, sys.argv[2:])
    else:
        root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(here)
        findings = check(root)
    for path, line, rule, message in findings:
        print(f"{path}:{line}: {rule}: {message}")
    print(f"check_style: {len(sources(root))} files, {len(findings)} findings", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
