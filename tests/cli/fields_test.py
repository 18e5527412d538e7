#!/usr/bin/env python3
"""Tests that the docs have the table of request fields that ingot man --request-fields prints."""
import pathlib

import ingot

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "api-reference.md"


class Fields(ingot.CliTest):
    def test_the_docs_have_the_programs_table(self):
        table = self.assert_done(ingot.run("man", "--request-fields")).out.decode()
        found = [line for line in PAGE.read_text(encoding="utf-8").split("\n")
                 if line.startswith("|")]
        self.assertEqual(found, table.splitlines(),
                         f"{PAGE.name} needs the table of ingot man --request-fields")


if __name__ == "__main__":
    ingot.main()
