"""Generates random Jinja expressions with a seed, with variables of every kind."""
import random
import re

VARIABLES = {
    "i": 7, "n": -3, "big": 9007199254740993, "f": 2.5, "g": 1e-07, "h": 123456789.125, "zero": 0,
    "yes": True, "no": False, "nothing": None, "s": "Hello World", "empty": "",
    "u": "\u00dcber stra\u00dfe \u4f60\u597d",
    "padded": "  some text\n", "lines": "one\ntwo\r\nthree\n\n four", "csv": "a,b,,c",
    "html": "<b>&\"x\"'</b>",
    "num": "42", "fl": "3.75", "list": [3, 1, 2], "words": ["banana", "Apple", "cherry"],
    "nested": [[1, 2], [3]],
    "d": {"b": 1, "a": 2, "C": 3}, "items_key": {"items": 5, "get": 6, "x": None},
    "objs": [{"name": "x", "n": 2, "ok": True}, {"name": "Y", "n": 1}, {"name": "a", "n": 3,
                                                                        "ok": False}],
    "mixed": [1, "a", None, 2.5, True],
}
STRINGS = ["s", "empty", "u", "padded", "lines", "csv", "html", "num", "fl", "'a-b c'", "\"q'q\"",
           "'\\n\\t\\u00e9'"]
NUMBERS = ["i", "n", "f", "g", "h", "zero", "yes", "1", "0", "2", "-1", "10", "3.0", "1.5e3",
           "1_000", "0x1f"]
LISTS = ["list", "words", "nested", "mixed", "[]", "[1, 2, 3]", "(1, 'a')", "objs", "range(5)",
         "range(1, 10, 3)",
         "csv.split(',')", "d.keys()|list", "s|list"]
DICTS = ["d", "items_key", "{}", "{'k': 1, 'l': [2]}", "objs[0]", "dict(a=1, b='c')"]
TEXT_FILTERS = ["upper", "lower", "title", "capitalize", "trim", "length", "string", "list",
                "reverse", "first", "last",
                "replace('o', '0')", "replace('a', '', 1)", "indent", "indent(2, true)",
                "indent('> ', blank=true)",
                "truncate(9)", "truncate(8, true, '..', 0)", "center(20)", "wordcount", "int",
                "int(5)", "float",
                "tojson", "urlencode", "e", "escape", "trim('H')", "default('x')", "d('x', true)",
                "join('-')",
                "batch(3)|list", "forceescape", "safe", "unique|join", "sort|join", "count", "abs",
                "items|list"]
NUMBER_FILTERS = ["abs", "round", "round(1)", "round(2, 'floor')", "round(0, 'ceil')", "int",
                  "float", "string", "tojson",
                  "default(1)", "filesizeformat", "filesizeformat(true)", "length", "upper", "list"]
LIST_FILTERS = ["length", "first", "last", "join", "join(', ')", "sort", "sort(reverse=true)",
                "reverse|list", "list",
                "unique|list", "max", "min", "sum", "tojson", "tojson(indent=2)",
                "map('string')|list", "map('upper')|join",
                "select|list", "reject|list", "select('string')|list", "reject('none')|list",
                "select('number')|sum",
                "map(attribute='name')|list", "selectattr('ok')|list",
                "rejectattr('ok')|map(attribute='n')|list",
                "selectattr('n', 'gt', 1)|map(attribute='name')|join",
                "sort(attribute='name')|map(attribute='name')|list",
                "batch(2, 'x')|list", "slice(2)|list", "slice(2, 'y')|list",
                "join(attribute='name')",
                "map('default', 'z')|list", "string", "sum(attribute='n')", "map('length')|list",
                "tojson(separators=(',', ':'))",
                "sort(case_sensitive=true)", "max(attribute='n')", "min(case_sensitive=true)",
                "select('in', [1, 2])|list"]
DICT_FILTERS = ["length", "list", "dictsort", "dictsort(reverse=true)", "dictsort(false, 'value')",
                "items|list", "tojson",
                "tojson(indent=1, sort_keys=true)", "string", "first", "join(',')", "default({})",
                "tojson(sort_keys=true)",
                "dictsort(true)|map('first')|list", "map('upper')|list"]
METHODS = ["upper()", "lower()", "strip()", "lstrip('H ')", "rstrip()", "split()", "split('o')",
           "split(None, 1)",
           "rsplit(' ', 1)", "rsplit(None, 1)", "startswith('H')", "endswith(('d', 'x'))",
           "replace('l', 'L', 2)", "title()",
           "capitalize()", "swapcase()", "find('o')", "rfind('o')", "count('l')", "index('e')",
           "isdigit()", "isalpha()",
           "isupper()", "islower()", "isspace()", "isalnum()", "istitle()", "zfill(15)",
           "center(17, '*')", "ljust(14, '.')",
           "rjust(14)", "partition(' ')", "rpartition('o')", "splitlines()", "splitlines(true)",
           "join(['x', 'y'])",
           "removeprefix('He')", "removesuffix('d')", "casefold()", "expandtabs(4)",
           "isidentifier()", "isprintable()",
           "format(1, 2)", "isnumeric()", "isdecimal()", "isascii()"]
DICT_METHODS = ["get('a')", "get('zz', 4)", "get('zz')", "items()", "keys()", "values()",
                "items()|list", "copy()", "pop('a')",
                "update({})", "a", "zz", "items", "b is defined"]
LIST_METHODS = ["index(1)", "count(1)", "append(4)", "copy()", "0", "1", "99"]
TESTS = ["defined", "none", "string", "number", "integer", "float", "boolean", "mapping",
         "iterable", "sequence", "true", "false",
         "odd", "even", "divisibleby(3)", "lower", "upper", "in [1, 7, 'Hello World']", "eq 7",
         "ne(7)", "gt 3", "lt 3", "ge 7",
         "sameas none", "callable", "undefined", "escaped", "equalto 'x'", "filter", "test"]
FORMATS = ["'%s' % {0}", "'%5.2f|' % {0}", "'%d items' % {0}", "'%-8s|' % {0}", "'%05d' % {0}",
           "'%x' % {0}", "'%r' % {0}",
           "'{{0}} {{0!r}}'.format({0})", "'{{:>8}}'.format({0})", "'{{:<8}}|'.format({0})",
           "'{{:^9}}|'.format({0})",
           "'{{:.2f}}'.format({0})", "'{{:,}}'.format({0})", "'{{:08.3f}}'.format({0})",
           "'{{:+d}}'.format({0})",
           "'{{:e}}'.format({0})", "'{{:g}}'.format({0})", "'{{:%}}'.format({0})",
           "'{{:#x}}'.format({0})", "'%s and %s' % ({0}, 1)",
           "'%s %s'|format({0}, 'x')", "'{{a}}'.format(a={0})", "'{{:*^12s}}'.format({0})",
           "'%e' % {0}", "'%10.3e|' % {0}"]
BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "and", "or", "in",
          "not in"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, options):
        return self.random.choice(options)

    def string(self, depth):
        kind = self.random.randrange(6 if depth > 0 else 1)
        if kind == 0:
            return self.pick(STRINGS)
        if kind == 1:
            return f"({self.string(depth - 1)} ~ {self.any(depth - 1)})"
        if kind == 2:
            return f"{self.string(depth - 1)}|{self.pick(TEXT_FILTERS)}"
        if kind == 3:
            return f"({self.string(depth - 1)}).{self.pick(METHODS)}"
        if kind == 4:
            return f"({self.string(depth - 1)})[{self.slice()}]"
        return "(" + self.pick(FORMATS).format(self.any(depth - 1)) + ")"

    def slice(self):
        parts = [self.pick(["", "0", "1", "-1", "2", "-3", "10",
                            "-20"]) for _ in range(self.random.randrange(1, 4))]
        if len(parts) == 1 and parts[0] == "":
            return "0"
        return ":".join(parts)

    def number(self, depth):
        if depth == 0 or self.random.randrange(3) == 0:
            return self.pick(NUMBERS)
        kind = self.random.randrange(4)
        if kind == 0:
            return f"({self.number(depth - 1)} {self.pick(BINARY[:6])} {self.number(depth - 1)})"
        if kind == 1:
            return f"{self.number(depth - 1)}|{self.pick(NUMBER_FILTERS)}"
        if kind == 2:
            return f"(-{self.number(depth - 1)})"
        return f"({self.number(depth - 1)} ** {self.pick(['2', '0', '3', '-1', '0.5'])})"

    def sequence(self, depth):
        kind = self.random.randrange(4 if depth > 0 else 1)
        if kind == 0:
            return self.pick(LISTS)
        if kind == 1:
            return f"{self.sequence(depth - 1)}|{self.pick(LIST_FILTERS)}"
        if kind == 2:
            return f"({self.sequence(depth - 1)})[{self.slice()}]"
        return f"({self.sequence(depth - 1)} + {self.sequence(depth - 1)})"

    def mapping(self, depth):
        kind = self.random.randrange(3 if depth > 0 else 1)
        if kind == 0:
            return self.pick(DICTS)
        if kind == 1:
            return f"{self.mapping(depth - 1)}|{self.pick(DICT_FILTERS)}"
        return f"({self.mapping(depth - 1)}).{self.pick(DICT_METHODS)}"

    def any(self, depth):
        kind = self.random.randrange(10 if depth > 0 else 4)
        if kind < 4:
            return [self.string, self.number, self.sequence, self.mapping][kind](depth)
        if kind == 4:
            return f"({self.any(depth - 1)} {self.pick(BINARY)} {self.any(depth - 1)})"
        if kind == 5:
            return f"({self.any(depth - 1)} is {self.pick(['', 'not '])}{self.pick(TESTS)})"
        if kind == 6:
            return f"({self.any(depth - 1)} if {self.any(depth - 1)} else {self.any(depth - 1)})"
        if kind == 7:
            return f"(not {self.any(depth - 1)})"
        if kind == 8:
            return f"[{self.any(depth - 1)}, {self.any(depth - 1)}]"
        return self.pick(["missing", "nothing", "missing.x", "d.zz", "list.9",
                          f"({self.sequence(depth - 1)}).{self.pick(LIST_METHODS)}"])


def generate(seed, count):
    generator = Generator(seed)
    return [generator.any(3) for _ in range(count)]


def template_of(expressions):
    """One template that evaluates the expression whose number is `case`."""
    parts = [f"{{% {'if' if i == 0 else 'elif'} case == {i} %}}{{{{ {e} }}}}" for i,
             e in enumerate(expressions)]
    return "".join(parts) + "{% endif %}"


def is_comparable(theirs, ours):
    """Whether a difference counts. What ingot has not and says so does not: integers beyond 64
    bits, complex numbers, sets (differences of a dict's keys or items), texts beyond its budget.
    Neither do addresses of Python's objects, the bounds of sliced ranges, and slices of numbers, an
    error in Jinja2 unless its optimizer has evaluated them.
    """
    allowed = r"beyond 64 bits|complex number|cannot be sliced|template budget"
    sets = r"for -: ('dict_(keys|items)' and|'\w+' and 'dict_(keys|items)')"
    if isinstance(ours, Exception) and re.search(f"{allowed}|{sets}", str(ours)):
        return False
    return isinstance(theirs, Exception) or not (" object at 0x" in theirs or "range(" in theirs)
