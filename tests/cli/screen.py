"""What a terminal shows of the bytes that a program writes to it."""
import re
import unicodedata

# The sequences that ingot writes; all others are errors.
TOKENS = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])|\x1b.?|.|\n", re.S)


def width(c):
    """The columns of a character."""
    if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


class Screen:
    """A terminal with endless rows. It begins a new row as xterm does: when a character comes that
    does not fit."""

    def __init__(self, columns=200):
        self.columns, self.rows, self.row, self.column = columns, [{}], 0, 0
        self.pastes_are_bracketed = False

    def write(self, raw):
        for token in TOKENS.finditer(raw):
            private, number, last = token.groups()
            if last:
                self.sequence(private, number, last)
            elif token[0].startswith("\x1b"):
                raise AssertionError(f"unknown sequence {token[0]!r}")
            else:
                self.character(token[0])
        return self

    def sequence(self, private, number, last):
        if private and number == "2004" and last in "hl":
            self.pastes_are_bracketed = last == "h"
            return
        count, end = int(number or 1), min(self.column, self.columns - 1)
        if last == "A":
            self.row, self.column = max(self.row - count, 0), end
        elif last == "B":
            self.row, self.column = min(self.row + count, len(self.rows) - 1), end
        elif last == "C":
            self.column = min(end + count, self.columns - 1)
        elif last in "KJ" and number in ("", "0"):
            self.rows[self.row] = {c: t for c, t in self.rows[self.row].items() if c < end}
            if last == "J":
                del self.rows[self.row + 1:]
        else:
            raise AssertionError(f"unknown sequence {private!r} {number!r} {last!r}")

    def character(self, c):
        if c == "\r":
            self.column = 0
        elif c == "\n":
            self.row += 1
            if self.row == len(self.rows):
                self.rows.append({})
        elif c == "\b":
            self.column = max(min(self.column, self.columns - 1) - 1, 0)
        elif c == "\t":
            self.column = min(self.column // 8 * 8 + 8, self.columns - 1)
        elif c < " ":
            raise AssertionError(f"a control character: {c!r}")
        else:
            self.letter(c)

    def letter(self, c):
        columns = width(c)
        if columns == 0:
            row = self.rows[self.row]
            at = max((k for k in row if k < max(self.column, 1)), default=0)
            row[at] = row.get(at, "") + c
            return
        if self.column + columns > self.columns:
            self.character("\r")
            self.character("\n")
        self.rows[self.row][self.column] = c
        self.column += columns

    def lines(self):
        """The rows as text."""
        found = []
        for row in self.rows:
            line, end = "", 0
            for column in sorted(row):
                line += " " * (column - end) + row[column]
                end = column + width(row[column][0])
            found.append(line.rstrip())
        return found


def shown(raw, columns=200):
    """What a terminal shows of these bytes."""
    return "\n".join(Screen(columns).write(raw).lines())
