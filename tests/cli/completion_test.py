#!/usr/bin/env python3
"""Tests ingot completion and ingot man: scripts and pages match the program's options, and work in
the installed shells and viewers."""
import os
import re
import shutil
import subprocess
import unittest

import ingot
from ingot import USAGE

SHELLS = ("bash", "zsh", "fish")


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


def commands(*above):
    """Every command, as the program's own help lists them, or the help of one with more."""
    text = ingot.run(*above, "--help").out.decode()
    below = text.partition("Subcommands:")[2]
    return re.findall(r"^  ([a-z][a-z-]*) ", below, re.MULTILINE)


def all_commands():
    """Every command as a list of its words, those of commands too."""
    return [[c, *d] for c in commands() for d in ([], *([word] for word in commands(c)))]


def options(*command):
    """The long options that a command's help lists."""
    text = ingot.run(*command, "--help").out.decode()
    lines = re.findall(r"^  (?:-[a-z],)?(--[a-z][a-z,-]*)", text, re.MULTILINE)
    return {option for line in lines for option in line.split(",") if option}


class Completion(ingot.CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.scripts = {shell: ingot.run("completion", shell).out.decode() for shell in SHELLS}
        os.mkdir(cls.path("bin"))
        os.symlink(ingot.BINARY, cls.path("bin/ingot"))

    def complete(self, line, point=None, cwd=None):
        """What bash offers for a line with the cursor at `point`."""
        script = 'source "$1"; COMP_LINE=$2 COMP_POINT=$3; _ingot; printf "%s\\n" "${COMPREPLY[@]}"'
        path = self.file("ingot.bash", self.scripts["bash"].encode())
        point = str(len(line) if point is None else point)
        return self.words_of("bash", "--norc", "-c", script, "bash", path, line, point, cwd=cwd)

    def words_of(self, *shell, cwd=None):
        """The lines that a shell prints."""
        env = ingot.environment({"HF_HUB_CACHE": self.path("cache")})
        env["PATH"] = self.path("bin") + ":" + env.get("PATH", "")
        done = subprocess.run(shell, capture_output=True, check=False, timeout=ingot.TIMEOUT_S,
                              env=env, cwd=cwd)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done)
        return [word for word in done.stdout.decode().split("\n") if word]

    def add_model(self, name):
        commit = "c" * 40
        top = f"cache/models--{name.replace('/', '--')}"
        self.file(f"{top}/snapshots/{commit}/m-Q4_0.gguf", b"x")
        self.file(f"{top}/snapshots/{commit}/m-Q8_0.gguf", b"x")
        self.file(f"{top}/refs/main", commit.encode())

    def test_the_scripts_name_every_command_and_option(self):
        for shell, script in self.scripts.items():
            for command in all_commands():
                self.assertIn(command[-1], script)
                for option in options(*command):
                    wanted = option if shell != "fish" else f"-l {option[2:]}"
                    self.assertIn(wanted, script, f"{shell} {command}")

    @needs("bash")
    def test_bash_takes_its_script(self):
        path = self.file("check.bash", self.scripts["bash"].encode())
        done = subprocess.run(["bash", "-n", path], capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    @needs("zsh")
    def test_zsh_takes_its_script(self):
        path = self.file("_ingot", self.scripts["zsh"].encode())
        done = subprocess.run(["zsh", "-n", path], capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    @needs("fish")
    def test_fish_takes_its_script(self):
        path = self.file("ingot.fish", self.scripts["fish"].encode())
        done = subprocess.run(["fish", "-n", path], capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    @needs("fish")
    def test_fish_offers_commands_options_and_models(self):
        self.add_model("user/fish")
        path = self.file("ingot.fish", self.scripts["fish"].encode())

        def offered(line):
            lines = self.words_of("fish", "--no-config", "-c",
                                  f"source {path}; complete --do-complete '{line}'")
            return [line.split("\t")[0] for line in lines]
        self.assertEqual(sorted(offered("ingot ")), sorted(commands()))
        self.assertEqual(offered("ingot run --temper"), ["--temperature"])
        self.assertEqual(sorted(offered("ingot run --kv-type ")), ["auto", "bf16", "f16", "f32",
                                                                    "int8"])
        self.assertEqual(offered("ingot rm user/fish:Q4"), ["user/fish:Q4_0"])
        shutil.rmtree(self.path("cache/models--user--fish"))

    @needs("bash")
    def test_bash_offers_commands_and_options(self):
        self.assertEqual(self.complete("ingot "), commands())
        self.assertEqual(self.complete("ingot ru"), ["run"])
        self.assertEqual(self.complete("ingot --ver"), ["--version"])
        self.assertEqual(self.complete("ingot nothing-like-this"), [])
        for command in all_commands():
            offered = self.complete(f"ingot {' '.join(command)} --")
            self.assertEqual({o for o in offered if o.startswith("--")}, options(*command))
        self.assertEqual(self.complete("ingot run --temper"), ["--temperature"])
        self.assertEqual(self.complete("ingot run --temper x", 18), ["--temperature"])

    @needs("bash")
    def test_bash_offers_values(self):
        self.assertEqual(self.complete("ingot run m.gguf --kv-type "),
                         ["auto", "f16", "f32", "bf16", "int8"])
        self.assertEqual(self.complete("ingot run --cpu-isa avx5"),
                         ["avx512-novnni", "avx512", "avx512-bf16", "avx512-amx"])
        self.assertEqual(self.complete("ingot completion "), list(SHELLS))
        self.assertEqual(self.complete("ingot completion f"), ["fish"])

    @needs("bash")
    def test_bash_offers_models_and_files(self):
        self.add_model("user/name")
        self.file("here/model.gguf", b"x")
        self.file("here/user-file.gguf", b"x")
        here = self.path("here")
        self.assertEqual(self.complete("ingot run mo", cwd=here), ["model.gguf"])
        self.assertEqual(sorted(self.complete("ingot run us", cwd=here)),
                         ["user-file.gguf", "user/name:Q4_0", "user/name:Q8_0"])
        # bash replaces what stands behind the colon.
        self.assertEqual(self.complete("ingot rm user/name:", cwd=here), ["Q4_0", "Q8_0"])
        self.assertEqual(self.complete("ingot rm user/name:Q8", cwd=here), ["Q8_0"])
        self.assertEqual(self.complete("ingot rm mo", cwd=here), [])
        # A command of a command stands where a model can.
        self.assertEqual(self.complete("ingot bench mo", cwd=here), ["model.gguf"])
        self.assertEqual(sorted(self.complete("ingot bench se", cwd=here)),
                         ["serve", "serve-inproc"])
        self.assertEqual(self.complete("ingot bench serve-inproc mo", cwd=here), ["model.gguf"])
        self.assertEqual(self.complete("ingot run x --prompt mo", cwd=here), ["model.gguf"])

    @needs("bash")
    def test_bash_does_not_run_what_names_say(self):
        top = "cache/models--evil--name/snapshots/" + "c" * 40
        for name in ("$(touch pwned)", "`touch pwned`", "a;touch pwned"):
            self.file(f"{top}/{name}.gguf", b"x")
        here = self.path("evil")
        os.makedirs(here, exist_ok=True)
        offered = self.complete("ingot rm evil", cwd=here)
        self.assertEqual(len(offered), 3)
        for word in offered:
            self.assertNotRegex(word, r"(?<!\\)[$`;( ]")
        self.assertEqual(os.listdir(here), [])
        shutil.rmtree(self.path("cache/models--evil--name"))

    def test_other_shells(self):
        for shell in ("", "sh", "bash ", "BASH"):
            self.assert_error(ingot.run("completion", shell), USAGE, "SHELL")
        self.assert_error(ingot.run("completion"), USAGE)


class Manual(ingot.CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.mkdir(cls.path("man1"))
        result = ingot.run("man", "--out", cls.path("man1"))
        assert result.code == 0, result
        cls.pages = {}
        for name in sorted(os.listdir(cls.path("man1"))):
            with open(cls.path(f"man1/{name}"), encoding="ascii") as f:
                cls.pages[name] = f.read()

    def test_every_command_has_a_page(self):
        names = {"-".join(c): c for c in all_commands()}
        self.assertIn("bench-serve-inproc", names)
        self.assertIn("bench-serve", names)
        self.assertEqual(set(self.pages), {"ingot.1", *(f"ingot-{name}.1" for name in names)})
        for name, command in names.items():
            self.assertEqual(ingot.run("man", *command).out.decode(), self.pages[f"ingot-{name}.1"])
        self.assertEqual(ingot.run("man").out.decode(), self.pages["ingot.1"])
        for words in (("nothing",), ("run", "run")):
            self.assert_error(ingot.run("man", *words), USAGE, "COMMAND")

    def test_pages_are_made_of_known_requests(self):
        for name, page in self.pages.items():
            for line in page.split("\n"):
                if line.startswith((".", "'")):
                    self.assertRegex(line, r"^\.(TH|SH|TP|PP|br)\b", name)
            sections = re.findall(r"^\.SH (.*)$", page, re.MULTILINE)
            self.assertEqual(sections[:3], ["NAME", "SYNOPSIS", "DESCRIPTION"])
            for escape in re.findall(r"\\(.)", page):
                self.assertIn(escape, "efI\\-&:", name)

    def rendered(self, name):
        env = ingot.environment({"MANWIDTH": "200", "MAN_KEEP_FORMATTING": None, "LC_ALL": "C"})
        done = subprocess.run(["man", "--warnings", "-l", self.path(f"man1/{name}")],
                              capture_output=True, check=False, env=env)
        self.assertEqual((done.returncode, done.stderr), (0, b""), name)
        return re.sub(".\x08", "", done.stdout.decode())

    @needs("man")
    def test_man_shows_every_option(self):
        for command in all_commands():
            text = self.rendered(f"ingot-{'-'.join(command)}.1")
            for option in options(*command):
                self.assertIn(option, text, command)
            self.assertIn(f"ingot {' '.join(command)} [OPTIONS]", text)
        self.assertIn("ingot bench COMMAND ...", self.rendered("ingot-bench.1"))
        text = self.rendered("ingot.1")
        for command in commands():
            self.assertIn(f"ingot-{command}(1)", text)
        self.assertIn("HF_TOKEN", self.rendered("ingot-pull.1"))

    @needs("groff")
    def test_groff_has_no_complaints(self):
        for name in self.pages:
            done = subprocess.run(["groff", "-ww", "-man", "-Tascii", self.path(f"man1/{name}")],
                                  capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b""), name)

    def test_a_folder_that_is_not_there(self):
        self.assert_error(ingot.run("man", "--out", self.path("none")), ingot.IO)


if __name__ == "__main__":
    ingot.main()
