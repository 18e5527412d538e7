"""Compares the pieces of pre-tokenizers with those of Python's regex module.

The patterns are those of the models' own tokenizer.json. Texts are generated, and read from .inp
files if the shared data is there. Needs the module `regex` (Debian: python3-regex); the test looks
for an interpreter that has it."""

import os
import pathlib
import random
import struct
import subprocess
import sys
import unicodedata
import unittest

try:
    import regex
except ImportError:
    debian = "/usr/bin/python3"
    if os.path.realpath(sys.executable) != os.path.realpath(debian) and os.path.exists(debian):
        os.execv(debian, [debian, "-B"] + sys.argv)
    print("skipped: no Python with the module regex")
    sys.exit(0)

PROGRAM = os.environ["INGOT_CUT_PIECES"]
SHARED = pathlib.Path(os.environ.get("INGOT_SHARED") or os.environ["INGOT_DEFAULT_SHARED"])
TEXTS = 6_000
if os.environ.get("INGOT_FULL"):
    TEXTS = 100_000
elif os.environ.get("INGOT_SANITIZE"):
    TEXTS = 1_500

SPACES = r"|\s+(?!\S)|\s+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+" + SPACES
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SIGNS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+" + SPACES
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + SIGNS
QWEN2 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + SIGNS
QWEN35 = (CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
          r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+" + SPACES)
SEED = (CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}"
        r"| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+" + SPACES)
UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


def cased(contractions, numbers):
    prefix = r"[^\r\n\p{L}\p{N}]?"
    return (prefix + UPPER + "*" + LOWER + "+" + contractions + "|"
            + prefix + UPPER + "+" + LOWER + "*" + contractions + "|" + numbers
            + r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+" + SPACES)


O200K = cased(CONTRACTIONS + "?", r"\p{N}{1,3}")
TEKKEN = cased("", r"\p{N}")
DEEPSEEK3 = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
             r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+" + SPACES)
CJK = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
DEEPSEEK_LETTERS = (
    r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-Ჺ"
    r"Ჽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝ\u1f5f-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌ"
    r"\u1fd0-\u1fd3\u1fd6-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃ"
    r"ↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+")
DEEPSEEK_SIGNS = r"\s?[!-/:-~！-／：-～‘-‟\u3000-。]+"
DEEPSEEK_LLM = [r"[\r\n]", DEEPSEEK_LETTERS, DEEPSEEK_SIGNS, r"\s+\Z", CJK, r"\p{N}"]
DEEPSEEK_CODER = [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK, r"\p{N}"]
DEEPSEEK_V3 = [r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", DEEPSEEK3]
DEFAULT = [r"[\p{P}$+<=>^~|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"]
NUMBERS_GPT2 = [r"\p{N}", GPT2]

NAMES = {
    "chatglm-bpe": [LLAMA3], "codeshell": NUMBERS_GPT2, "command-r": NUMBERS_GPT2, "dbrx": [LLAMA3],
    "deepseek-coder": DEEPSEEK_CODER, "deepseek-llm": DEEPSEEK_LLM, "deepseek-r1-qwen": [QWEN2],
    "deepseek-v3": DEEPSEEK_V3, "default": DEFAULT, "exaone": NUMBERS_GPT2, "exaone4": [GPT2],
    "falcon3": [LLAMA3], "glm4": [LLAMA3], "gpt-2": [GPT2], "gpt-4o": [O200K], "gpt-neox": [GPT2],
    "hunyuan": [QWEN2],
    "hunyuan-dense": DEEPSEEK_V3, "llama-bpe": [LLAMA3], "modern-bert": [GPT2],
    "llama-v3": [LLAMA3], "llama3": [LLAMA3], "llama4": [O200K], "minerva-7b": NUMBERS_GPT2,
    "mpt": [GPT2], "olmo": [GPT2], "phi-2": [GPT2], "qwen2": [QWEN2], "qwen35": [QWEN35],
    "refact": NUMBERS_GPT2, "roberta-bpe": [GPT2], "seed-coder": [SEED], "smaug-bpe": [LLAMA3],
    "smollm": NUMBERS_GPT2, "stablelm2": [QWEN2], "starcoder": NUMBERS_GPT2, "tekken": [TEKKEN],
}
# As PCRE2 runs them, which is what files with other patterns get.
REGEXES = {
    r"[^\s]+|\s+": r"[^\s]+|\s+",
    r" ?[^(\s|.,!?…。，、।۔،)]+": r" ?[^(\s|.,!?…。，、।۔،)]+",
    r"[^\n]+|[\n]+": r"[^\n]+|[\n]+",
    r"(?=(\d{3})+(?!\d))": r"(?=(\d{3})+(?!\d))",
    r"\p{Han}+|\p{Latin}+": r"\p{Script=Han}+|\p{Script=Latin}+",
    "(?:" + O200K + ")": O200K,
    "(?:" + DEEPSEEK3 + ")": DEEPSEEK3,
}

# Characters that patterns tell apart, the likely ones more often, and some of everything else.
LIKELY = ("aStTdDmMlLrReEvVsABxyz0123 \t\r\n   '''!.,$+`~<_/-()[]{}|@#^&*=\\\"?:;>%"
          "\u017f\u00e9\u00c9\u01c5\u02b0\u4e2d\u6587\u3042\u30ab\uac00\u05d0\u0915\u0660\u0663"
          "\u00bd\u2160\u00a0\u3000\u0085\u2028\u20ac\u00ad\u0301\u0903\u20dd\U0001f999\u200d"
          "\u0964\u2018\u201c\uff01\uff21\u3002\u9fa5\ud7a3\u0800\u00b5\u0563\u10d0\u24b6\x7f\x00")


def random_text(rng):
    return "".join(rng.choice(LIKELY) if rng.random() < 0.9 else random_character(rng)
                   for _ in range(rng.randrange(1, 24)))


def random_character(rng):
    """Assigned in Unicode 3.2 with the category that it has now, so that no library's tables are
    newer than another's."""
    while True:
        c = chr(rng.randrange(0x110000 if rng.random() < 0.3 else 0x3000))
        category = unicodedata.ucd_3_2_0.category(c)
        if category not in ("Cn", "Cs", "Co") and category == unicodedata.category(c):
            return c


def input_texts():
    folder = SHARED / "data" / "llama.cpp" / "vocab"
    files = sorted(folder.glob("*.inp"))
    if not files:
        print(f"no texts from {folder}: not there")
    texts = []
    for file in files:
        texts += file.read_bytes().decode("utf-8").split("\n__ggml_vocab_test__\n")
    return sorted(set(texts))


def cut(pattern, text):
    """The matches and what lies between them."""
    at, pieces = 0, []
    for match in pattern.finditer(text):
        pieces += [text[at:match.start()], match.group()]
        at = match.end()
    return [piece for piece in pieces + [text[at:]] if piece]


def expected(patterns, text):
    pieces = [text] if text else []
    for pattern in patterns:
        pieces = [part for piece in pieces for part in cut(pattern, piece)]
    return [len(piece.encode("utf-8")) for piece in pieces]


def actual(kind, what, texts):
    blobs = [text.encode("utf-8") for text in texts]
    data = b"".join(struct.pack("<I", len(blob)) + blob for blob in blobs)
    result = subprocess.run([PROGRAM, kind, what], input=data, capture_output=True, check=True)
    return [[int(size) for size in line.split()] for line in result.stdout.decode().splitlines()]


class PiecesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rng = random.Random(5)
        cls.texts = input_texts() + [random_text(rng) for _ in range(TEXTS)]

    def check(self, kind, what, patterns):
        compiled = [regex.compile(pattern) for pattern in patterns]
        cuts = actual(kind, what, self.texts)
        self.assertEqual(len(cuts), len(self.texts))
        for text, sizes in zip(self.texts, cuts):
            self.assertEqual(sizes, expected(compiled, text), f"{kind} {what}: {text!r}")

    def test_names(self):
        for name, patterns in NAMES.items():
            with self.subTest(name):
                self.check("name", name, patterns)

    def test_regular_expressions(self):
        for ours, pattern in REGEXES.items():
            with self.subTest(ours):
                self.check("regex", ours, [pattern])

    def test_scanners_stand_for_their_patterns(self):
        for pattern in (GPT2, LLAMA3, QWEN2, QWEN35, O200K, TEKKEN, DEEPSEEK3, DEEPSEEK_SIGNS):
            with self.subTest(pattern):
                self.check("regex", pattern, [pattern])


if __name__ == "__main__":
    unittest.main()
