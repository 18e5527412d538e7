#!/usr/bin/env python3
"""Tests check_style.py: each rule on code that breaks it, and on code that only looks so."""
import inspect
import os
import re
import tempfile
import unittest
from unittest import mock

import check_style
import plain_words

TOP = "// What this file is for.\n"
HEADER = TOP + "#pragma once\n\n"


def in_namespace(code, name="a"):
    return HEADER + "namespace " + name + " {\n\n" + code + "\n}\n"


def findings(files):
    """The findings in a tree of {path: content}, as {(path, line, rule)}."""
    with tempfile.TemporaryDirectory() as root:
        for path, content in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8", newline="") as f:
                f.write(content)
        return {(path, line, rule) for path, line, rule, _ in check_style.check(root)}


class Rules(unittest.TestCase):
    def breaks(self, path, content, *expected):
        """The file breaks exactly the expected (line, rule) pairs."""
        self.assertEqual(findings({path: content}), {(path, line, rule) for line, rule in expected})

    def holds(self, path, content):
        self.breaks(path, content)

    def test_file_length(self):
        body = "int a;\n" * (check_style.FILE_LINES_MAX - 1)
        self.holds("src/base/a.cpp", TOP + body)
        self.breaks("src/base/a.cpp", TOP + body + "int b;\n", (801, "file-length"))
        self.holds("src/text/a_tables.cpp", TOP + body + "int b;\n")

    def test_function_length(self):
        def function(inside, above="", head="int f(int a) {\n"):
            return TOP + above + head + "  a += 1;\n" * inside + "}\n"

        self.holds("src/base/a.cpp", function(98))
        self.breaks("src/base/a.cpp", function(99), (2, "function-length"))
        self.holds("src/base/a.cpp", function(99, "// long: one case per format.\n"))
        self.breaks("src/base/a.cpp", function(99, "// long: \n").replace("long: \n", "long:\n"),
                    (3, "function-length"))
        self.breaks("src/base/a.cpp", function(99, head="TEST(A, B) {\n"), (2, "function-length"))
        self.breaks("src/base/a.cpp", function(98, head="A::A(int a)\n    : a_(a), b_{a} {\n"),
                    (2, "function-length"))
        member = TOP + "class A {\n public:\n  int f() const {\n" + "    a();\n" * 99 + "  }\n};\n"
        self.breaks("src/base/a.cpp", member, (4, "function-length"))
        self.holds("src/base/a.cpp", TOP + "namespace a {\n" + "int b;\n" * 200 + "}\n")
        self.holds("src/base/a.cpp", TOP + "int a[] = {\n" + "    1,\n" * 200 + "};\n")
        self.holds("src/base/a.cpp", TOP + "class A {\n" + "  int f();\n" * 200 + "};\n")

    def test_braces_in_literals_and_macros_do_not_count(self):
        odd = ('const char* a = "{";\nchar b = \'{\';\nint c = 1\'000;\n/* { */\n'
               '#define OPEN \\\n  {\nconst char* d = R"x({"{)x";\nint f() { return 1; }\n')
        self.holds("src/base/a.cpp", TOP + odd * 60)

    def test_first_line_comment(self):
        self.breaks("src/base/a.cpp", "int a;\n", (1, "first-line-comment"))
        self.breaks("src/base/a.cpp", "", (1, "first-line-comment"))
        self.breaks("tests/fuzz/a.cpp", "#include <string>\n", (1, "first-line-comment"))

    def test_headers(self):
        self.breaks("src/base/a.h", TOP, (1, "pragma-once"))
        self.breaks("src/base/a.h", HEADER + "using namespace std;\n", (4, "using-namespace"))
        self.holds("src/base/a.h", HEADER + "// using namespace std;\n")

    def test_leftover_marker(self):
        for word in ("TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK"):
            self.breaks("src/base/a.cpp", TOP + f"int a;  // {word}: later\n",
                        (2, "leftover-marker"))
            self.breaks("scripts/a.sh", f"# {word} later\n", (1, "leftover-marker"))
        self.holds("src/base/a.cpp", TOP + 'const char* kName = "a.XXXXXX";\n')

    def test_what_the_library_is_not_used_for(self):
        self.breaks("src/base/a.cpp", TOP + "#include <regex>\nstd::regex a;\n",
                    (2, "regex-library"), (3, "regex-library"))
        self.breaks("src/base/a.cpp", TOP + "#include <iostream>\n", (2, "iostream"))
        self.breaks("src/load/a.cpp", TOP + "#include <cstdio>\n", (2, "parser-includes"))
        self.breaks("src/text/a.h", HEADER + "#include <cstring>\n", (4, "parser-includes"))
        self.holds("src/load/a_test.cpp", TOP + "#include <cstdio>\n")
        self.holds("src/base/a.cpp", TOP + "#include <cstdio>\n#include <cstring>\n")

    def test_environment(self):
        call = TOP + 'const char* a = std::getenv("A");\n'
        self.breaks("src/base/a.cpp", call, (2, "environment"))
        self.breaks("src/runtime/a.cpp", call, (2, "environment"))
        self.holds("src/cli/a.cpp", call)
        self.holds("src/base/a_test.cpp", call)
        self.holds("tests/a.cpp", call)
        self.holds("src/base/a.cpp", TOP + "// getenv() is for cli/\n")

    def test_fast_math(self):
        flag = "-ff" "ast-math"
        self.breaks("CMakeLists.txt", f"add_compile_options({flag})\n", (1, "fast-math"))
        self.breaks("cmake/a.cmake", "target(-ffp-contract=" "fast)\n", (1, "fast-math"))
        self.breaks("src/base/a.cpp", TOP + '#pragma GCC optimize("%s")\n' % flag, (2, "fast-math"))
        self.holds("cmake/a.cmake", f"target(-ffp-contract=off)  # never {flag}\n")

    def test_machine_path(self):
        for folder in ("/wo" "rk/", "/ro" "ot/"):
            self.breaks("src/base/a.cpp", TOP + f"// see {folder}a\n", (2, "machine-path"))
            self.breaks("docs/a.md", f"in `{folder}a`\n", (1, "machine-path"))
            self.holds("docs/a.md", f"in `build{folder}a` and $HOME{folder} and a/{folder}\n")

    def test_whitespace_and_columns(self):
        self.breaks("src/base/a.cpp", TOP + "\tint a;\n", (2, "whitespace"))
        self.breaks("src/base/a.cpp", TOP + "int a; \n", (2, "whitespace"))
        self.breaks("src/base/a.cpp", TOP + "int a;\r\n", (2, "whitespace"))
        self.breaks("src/base/a.cpp", TOP + "int a;", (2, "whitespace"))
        self.holds("src/base/a.cpp", TOP + "// " + "é" * 97 + "\n")
        self.breaks("src/base/a.cpp", TOP + "// " + "a" * 98 + "\n", (2, "columns"))
        self.holds("docs/a.md", "a" * 200 + "\n")

    def test_tests(self):
        sleep = TOP + "void f() { std::this_thread::sleep_for(a); }\n"
        self.breaks("src/base/a_test.cpp", sleep, (2, "waiting-test"))
        self.breaks("tests/a.cpp", sleep, (2, "waiting-test"))
        self.holds("src/base/a.cpp", sleep)
        self.breaks("src/base/a_test.cpp", TOP + "TEST(A, DISABLED_b) {}\n", (2, "disabled-test"))

    def test_device_seam(self):
        cpu = '#include "backend/cpu/kernel_table.h"\n'
        self.breaks("src/runtime/a.h", HEADER + cpu, (4, "device-seam"))
        self.breaks("src/backend/a.cpp", TOP + cpu, (2, "device-seam"))
        self.holds("src/backend/backends.cpp", TOP + cpu)
        self.holds("src/backend/cpu/a.cpp", TOP + cpu)
        self.holds("src/kv/a_test.cpp", TOP + cpu)
        self.holds("src/kv/a_test_util.h", HEADER + cpu)
        self.holds("tests/support/a.h", HEADER + cpu)
        self.holds("src/model/a.cpp", TOP + '#include "backend/cpus.h"\n')

    def test_include_order(self):
        self.breaks("src/base/a.cpp", TOP + '#include "quant/a.h"\n', (2, "include-order"))
        self.breaks("src/load/a.h", HEADER + '#include "backend/a.h"\n', (4, "include-order"))
        self.breaks("src/backend/cpu/a.cpp", TOP + '#include "kv/a.h"\n', (2, "include-order"))
        self.breaks("src/text/a.cpp", TOP + '#include "backend/a.h"\n', (2, "include-order"))
        self.breaks("src/base/a.cpp", TOP + '#include "../a.h"\n#include "a.h"\n',
                    (2, "include-order"), (3, "include-order"))
        self.holds("src/model/a.cpp", TOP + "".join(
            f'#include "{folder}/a.h"\n'
            for folder in ("base", "quant", "load", "backend", "kv", "model")))
        self.breaks("src/model/a.cpp", TOP + '#include "text/a.h"\n', (2, "include-order"))
        self.holds("src/cli/a.cpp", TOP + '#include "server/a.h"\n#include "text/a.h"\n')
        self.holds("src/base/a_test.cpp", TOP + '#include "quant/a.h"\n')

    def test_server_rooms(self):
        rule = (2, "server-rooms")
        for path, target in (("http/a.cpp", "common/a.h"), ("http/a_test.cpp", "a.h"),
                             ("common/a.cpp", "openai/a.h"), ("openai/a.cpp", "anthropic/a.h"),
                             ("operator/a.cpp", "routes.h")):
            self.breaks("src/server/" + path, TOP + f'#include "server/{target}"\n', rule)
        for path, target in (("http/a.cpp", "http/b.h"), ("common/a.cpp", "http/a.h"),
                             ("anthropic/a.cpp", "common/a.h"), ("a.cpp", "openai/a.h")):
            self.holds("src/server/" + path, TOP + f'#include "server/{target}"\n')

    def test_doc_comment(self):
        for code in ("struct A {};\n", "class A final : public B {\n  int f();\n};\n",
                     "enum class A { kB };\n", "int f(int a);\n",
                     "inline int f(int a) { return a; }\n", "template <class T>\nT f(T a);\n",
                     "[[nodiscard]] std::vector<int> f();\n"):
            with self.subTest(code):
                self.breaks("src/base/a.h", in_namespace(code), (6, "doc-comment"))
                self.holds("src/base/a.h", in_namespace("/// What.\n" + code))
                self.holds("src/base/a.h", in_namespace(code, "a::detail"))
                self.holds("src/base/a.cpp", TOP + code)
                self.holds("src/base/a_test_util.h", in_namespace(code))

    def test_doc_comment_stays_silent(self):
        for code in ("class A;\n", "enum class A : int;\n", "using A = int;\n",
                     "static_assert(sizeof(int) == 4);\n", "inline constexpr int kA = f(1);\n",
                     "INGOT_LIST(a)\n", "bool operator==(A a, A b);\n",
                     "extern template class A<int>;\n", "template <>\nstruct A<int> {};\n",
                     "/// What.\nint f(int a);\nint f(float a);\n", "int f();  ///< what\n",
                     "constexpr int kA[] = {f(1), 2};\n"):
            with self.subTest(code):
                self.holds("src/base/a.h", in_namespace(code))
        self.breaks("src/base/a.h", HEADER + "/// What.\nint f();\n\nint g();\n",
                    (7, "doc-comment"))

    def test_equal_types(self):
        def header(code, name="ingot"):
            return in_namespace("/// A.\n" + code, name)

        one, two = "src/hub/a.h", "src/server/a.h"
        same = {one: header("class A {\n};"), two: header("struct A final : B {\n};")}
        self.assertEqual(findings(same), {(two, 7, "equal-types")})
        for other in (header("class A;"), header("class AB {\n};"),
                      header("class A {\n};", "ingot::other")):
            self.assertEqual(findings({one: same[one], two: other}), set())
        # A .cpp's own types stand in a namespace without a name.
        self.assertEqual(findings({one: same[one], "src/hub/a.cpp": same[two].replace(
            "#pragma once\n\n", "")}), set())

    def words(self, path, content):
        """The lines that the rule plain-words finds, with no file pending."""
        with mock.patch.object(plain_words, "PLAIN_WORDS_PENDING", ()):
            return sorted(line for _, line, rule in findings({path: content})
                          if rule == "plain-words")

    def test_plain_words_hit(self):
        for phrase in ("A block for whoever asks.", "Nobody holds it.", "Brings the panel near.",
                       "It is slow of late.", "Likewise for bytes.", "That which was read.",
                       "Frees those that wait.", "Takes so many rows.", "So long a text fits.",
                       "It had best be small.", "It runs. Of these one is taken.", "Of a prompt.",
                       "that run at once", "The same for bytes.", "It reads the same.",
                       "What is not read stays.", "Copies what is left.", "What becomes of it.",
                       "They wait for one another.", "It is its turn.", "A sequence gives way.",
                       "It is let in.", "It goes on.", "All but for one.", "A digit, be it 0.",
                       "Nothing of it is kept.", "Null where it is none.", "It rests upon this.",
                       "Right however many run.", "The block at hand.", "The one of most blocks.",
                       "No block could be had.", "Errors: as of `submit`.", "NaN among them.",
                       "It is mended.", "Fails for want of memory.", "The rows to come.",
                       "The latter is read."):
            with self.subTest(phrase):
                self.assertEqual(self.words("src/base/a.cpp", TOP + f"\n// {phrase}\n"), [3])
                self.assertEqual(self.words("docs/a.md", f"A page.\n\n{phrase}\n"), [3])

    def test_every_pattern_is_hit(self):
        text = inspect.getsource(self.test_plain_words_hit)
        for pattern, _ in plain_words.COMPILED:
            phrases = re.findall(r'"([A-Za-z][^"]*)"', text)
            self.assertTrue(any(pattern.search(plain_words.without_quotations(phrase))
                                for phrase in phrases), pattern.pattern)

    def test_plain_words_stay_silent(self):
        for phrase in ("Users who stream tokens.", "What is a block?", "It has `nobody` in it.",
                       'The text "Who is there?" is a prompt.', "The results are the same.",
                       "At the same time.", "As many as there are, of course.",
                       "So many that it fits.", "The request's body.",
                       "Waits for the turns of a chat.", "It is of use.", "The bytes that follow."):
            with self.subTest(phrase):
                self.assertEqual(self.words("src/base/a.cpp", TOP + f"// {phrase}\n"), [])
                self.assertEqual(self.words("docs/a.md", f"A page.\n\n{phrase}\n"), [])

    def test_plain_words_in_what_is_looked_at(self):
        self.assertEqual(self.words("src/base/a.cpp", TOP + "int a;  // of a row\n"), [2])
        self.assertEqual(self.words("src/base/a.cpp", TOP + "// It takes so\n// many rows.\n"), [2])
        self.assertEqual(self.words("src/base/a.cpp", TOP + "// One.\n// Nobody.\n"), [3])
        message = TOP + 'auto a = f("it goes "\n           "on for ever");\n'
        self.assertEqual(self.words("src/base/a.cpp", message), [2])
        self.assertEqual(self.words("src/base/a_test.cpp", message), [])
        self.assertEqual(self.words("src/base/a.cpp", TOP + "int nobody = 0;\n"), [])
        self.assertEqual(self.words("tools/a.py", "a = 1\n# nobody\n"), [2])
        docstring = '"""A tool.\n\nNobody.\n"""\na = "nobody"\n'
        self.assertEqual(self.words("tools/a.py", docstring), [3])
        self.assertEqual(self.words("scripts/a.sh", "#!/bin/sh\n# nobody\necho nobody\n"), [2])
        self.assertEqual(self.words("docs/a.md", "```\nnobody\n```\n- a [b](nobody)\n"), [])
        self.assertEqual(self.words("docs/a.md", "| a | b |\n|---|---|\n| a | nobody |\n"), [3])

    def test_first_line_words(self):
        self.assertEqual(self.words("src/base/a.cpp", "// Passing on.\n"), [1])
        self.assertEqual(self.words("src/base/a.cpp", "// Writes files.\n// Atomically.\n"), [1])
        self.assertEqual(self.words("src/base/a.cpp", "// Writes files in one step.\n"), [])

    def test_pending_files(self):
        content = TOP + "// Nobody.\n"
        with mock.patch.object(plain_words, "PLAIN_WORDS_PENDING", ("src/base/", "src/a.cpp")):
            self.holds("src/base/a.cpp", content)
            self.breaks("src/quant/a.cpp", content, (2, "plain-words"))
            with tempfile.TemporaryDirectory() as root:
                place = os.path.join(root, "src/base/a.cpp")
                os.makedirs(os.path.dirname(place))
                with open(place, "w", encoding="utf-8") as f:
                    f.write(content)
                for given, expected in (("src/base", 1), ("src/base/a.cpp", 1), ("src/quant", 0)):
                    found = check_style.check_plain_words(root, [os.path.join(root, given)])
                    self.assertEqual(len(found), expected)

    def test_pending_prefixes_exist(self):
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        for prefix in plain_words.PLAIN_WORDS_PENDING:
            self.assertTrue(os.path.exists(os.path.join(root, prefix)), prefix)

    def test_files_that_are_not_looked_at(self):
        self.holds("build/a.cpp", "\t")
        self.holds("tests/fuzz/corpus/fuzz_a/a.json", "\t")
        self.breaks(".ci/run", "echo a \n", (1, "whitespace"))


if __name__ == "__main__":
    unittest.main()
