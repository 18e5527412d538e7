"""Tests the installed build: the program runs, its pages and completions are there, and a project
that finds the package builds and runs the examples."""
import os
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
CMAKE, BUILD, MODEL = (os.environ[f"INGOT_{name}"] for name in ("CMAKE", "BUILD", "TINY_MODEL"))
EXAMPLES = os.path.join(HERE, "..", "..", "examples")
FLAGS = "-fsanitize=" + os.environ["INGOT_SANITIZE"] if os.environ.get("INGOT_SANITIZE") else ""


def output(*args, **how):
    done = subprocess.run(args, capture_output=True, check=False, timeout=600, **how)
    if done.returncode != 0:
        raise AssertionError(f"{args}: {done.returncode}\n{done.stdout.decode()}"
                             f"{done.stderr.decode()}")
    return done.stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="ingot-install-")
        cls.prefix = os.path.join(cls.folder, "usr")
        output(CMAKE, "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def installed(self, *path):
        return os.path.join(self.prefix, *path)

    def test_the_program(self):
        program = self.installed("bin", "ingot")
        self.assertRegex(output(program, "--version"), rb"^ingot [0-9.]+\n$")
        for page, args in (("ingot.1", ()), ("ingot-run.1", ("run",))):
            with open(self.installed("share", "man", "man1", page), "rb") as f:
                self.assertEqual(f.read(), output(program, "man", *args))
        for shell, path in (("bash", "bash-completion/completions/ingot"),
                            ("zsh", "zsh/site-functions/_ingot"),
                            ("fish", "fish/vendor_completions.d/ingot.fish")):
            with open(self.installed("share", path), "rb") as f:
                self.assertEqual(f.read(), output(program, "completion", shell))

    def test_nothing_of_the_build_folder_is_in_the_package(self):
        found = 0
        for folder, _, names in os.walk(self.prefix):
            for name in names:
                if name.endswith(".cmake") or name.endswith(".h"):
                    found += 1
                    with open(os.path.join(folder, name), encoding="utf-8") as f:
                        self.assertNotIn(os.path.realpath(BUILD), f.read(), name)
        self.assertGreater(found, 4)

    def test_the_library(self):
        build = os.path.join(self.folder, "build")
        output(CMAKE, "-S", os.path.join(HERE, "example"), "-B", build,
               f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DEXAMPLES={EXAMPLES}",
               f"-DCMAKE_C_FLAGS={FLAGS}", f"-DCMAKE_CXX_FLAGS={FLAGS}",
               f"-DCMAKE_C_COMPILER={os.environ['INGOT_CC']}",
               f"-DCMAKE_CXX_COMPILER={os.environ['INGOT_CXX']}")
        output(CMAKE, "--build", build)
        self.assertTrue(output(os.path.join(build, "generate"), MODEL).startswith(b"first: "))
        self.assertTrue(output(os.path.join(build, "generate_c"), MODEL, "in an"))


if __name__ == "__main__":
    unittest.main()
