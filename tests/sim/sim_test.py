#!/usr/bin/env python3
"""Tests ingot-sim: `seeds` replays seeds that once failed, `mutants` checks that bugs are found.

INGOT_SIM is the program; MUTANT_SEEDS is the most seeds that finding a bug may take.
"""
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SIM = os.environ.get("INGOT_SIM", "ingot-sim")
SEEDS = int(os.environ.get("MUTANT_SEEDS", "10000"))
MUTANTS = range(1, 38)


def simulate(*options):
    """Exit code and JSON of a run."""
    done = subprocess.run([SIM, "--json", *options], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


class Seeds(unittest.TestCase):
    def test_seeds_that_once_failed_keep_every_promise(self):
        with open(os.path.join(HERE, "seeds.txt"), encoding="utf-8") as file:
            lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
        self.assertGreater(len(lines), 5)
        for seed, ticks, *_ in lines:
            with self.subTest(seed=seed):
                code, result = simulate("--seed", seed, "--ticks", ticks)
                self.assertEqual(code, 0, result)
                self.assertEqual(result["violations"], 0)

    def test_usage(self):
        for options in (["--seeds", "5"], ["--seeds", "5..4"], ["--ticks", "0"], ["--mutant", "3"],
                        ["--mutant", "M38"], ["--seeds", "1..2", "--trace"], ["--what"]):
            done = subprocess.run([SIM, *options], capture_output=True, check=False)
            self.assertEqual(done.returncode, 64, options)

    def test_the_same_seed_does_the_same(self):
        runs = [subprocess.run([SIM, "--seed", "7", "--trace"], capture_output=True, check=True)
                for _ in range(2)]
        lines = [run.stdout.splitlines() for run in runs]
        self.assertGreater(len(lines[0]), 100)
        events = [[line for line in run if line[:1].isdigit()] for run in lines]
        self.assertEqual(events[0], events[1])


class Mutants(unittest.TestCase):
    def test_every_seeded_bug_is_found(self):
        for number in MUTANTS:
            with self.subTest(mutant=number):
                code, result = simulate("--seeds", f"0..{SEEDS - 1}", "--mutant", f"M{number}")
                self.assertEqual((code, result["violations"]), (1, 1), result)
                print(f"M{number}: seed {result['first_seed']} breaks {result['invariant']}",
                      file=sys.stderr)
                code, again = simulate("--seed", str(result["first_seed"]), "--mutant",
                                       f"M{number}")
                self.assertEqual((code, again["invariant"]), (1, result["invariant"]), again)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], sys.argv[1].capitalize()])
