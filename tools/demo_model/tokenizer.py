"""The demo model's tokenizer: byte-level BPE of whole words and single characters.

A pre-token that is in the vocabulary is one token (`ignore_merges`); any other is spelled, byte
by byte: the merges hold nothing but runs of white space. So a word is either known as a whole or
all its letters are seen, and digits are always single.
"""

import collections
import json

import regex

from document import SPECIALS
from words import TEST_WORDS

VOCAB_MAX = 2048
# The pattern of Llama 3's tokenizer.json: GGUF's name for it, llama-bpe, implies ignore_merges.
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
MERGES = [("\n", "\n"), (" ", " ")]


def byte_alphabet():
    """The character that stands for each byte in a byte-level vocabulary (GPT-2's table)."""
    kept = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    table = {byte: chr(byte) for byte in kept}
    for byte in range(256):
        if byte not in table:
            table[byte] = chr(256 + len(table) - len(kept))
    return table


def is_control(token):
    """Whether an added token is left out of text. What frames a tool call is part of the reply."""
    return not token.startswith(("<tool", "</tool"))


class Tokenizer:
    """Text to ids and back. `words` are the pre-tokens with an id of their own, most frequent
    first."""

    def __init__(self, words):
        self.alphabet = byte_alphabet()
        pieces = sorted(self.alphabet.values()) + [self.visible(a + b) for a, b in MERGES]
        pieces += [self.visible(word) for word in words if self.visible(word) not in set(pieces)]
        self.pieces = pieces[: VOCAB_MAX - len(SPECIALS)] + SPECIALS
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}
        self.special = regex.compile("|".join(map(regex.escape, SPECIALS)))
        self.pattern = regex.compile(PATTERN)
        self.cache = {}

    def visible(self, text):
        """The text as the vocabulary writes it: a character a byte."""
        return "".join(self.alphabet[byte] for byte in text.encode())

    def _word(self, word):
        ids = self.cache.get(word)
        if ids is None:
            ids = self._encode_word(self.visible(word))
            self.cache[word] = ids
        return ids

    def _encode_word(self, word):
        if word in self.ids:
            return [self.ids[word]]
        ids, at = [], 0
        while at < len(word):
            size = 2 if word[at : at + 2] in {self.visible(a + b) for a, b in MERGES} else 1
            ids.append(self.ids[word[at : at + size]])
            at += size
        return ids

    def encode(self, text):
        ids, at = [], 0
        for match in self.special.finditer(text):
            self._plain(text[at : match.start()], ids)
            ids.append(self.ids[match.group()])
            at = match.end()
        self._plain(text[at:], ids)
        return ids

    def decode(self, ids):
        bytes_of = {character: byte for byte, character in self.alphabet.items()}
        said = b""
        for piece in (self.pieces[i] for i in ids):
            said += piece.encode() if piece in SPECIALS else bytes(bytes_of[c] for c in piece)
        return said.decode(errors="replace")

    def _plain(self, text, ids):
        for word in self.pattern.findall(text):
            ids += self._word(word)

    def hugging_face(self):
        """The content of tokenizer.json."""
        added = [
            {
                "id": self.ids[s],
                "content": s,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": is_control(s),
            }
            for s in SPECIALS
        ]
        split = {
            "type": "Split",
            "pattern": {"Regex": PATTERN},
            "behavior": "Isolated",
            "invert": False,
        }
        level = {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": False,
        }
        model = {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": {p: i for i, p in enumerate(self.pieces) if p not in SPECIALS},
            "merges": [[self.visible(a), self.visible(b)] for a, b in MERGES],
        }
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added,
            "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
            "post_processor": None,
            "decoder": {
                "type": "ByteLevel",
                "add_prefix_space": True,
                "trim_offsets": True,
                "use_regex": True,
            },
            "model": model,
        }

    @classmethod
    def from_documents(cls, documents):
        """The words that save the most tokens: count times length, of those with no digit and not
        kept for tests."""
        pattern, special = regex.compile(PATTERN), regex.compile(
            "|".join(map(regex.escape, SPECIALS))
        )
        count = collections.Counter()
        for document in documents:
            for part in special.split(document.text()):
                count.update(pattern.findall(part))
        saved = {
            word: n * (len(word.encode()) - 1)
            for word, n in count.items()
            if n >= 30
            and len(word) > 1
            and not any(c.isdigit() for c in word)
            and word.strip().lower() not in TEST_WORDS
        }
        return cls(sorted(saved, key=lambda word: (-saved[word], word)))

    @classmethod
    def load(cls, path):
        """From a tokenizer.json of ours."""
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        made = cls([])
        made.pieces = [None] * (len(data["model"]["vocab"]) + len(SPECIALS))
        for piece, i in data["model"]["vocab"].items():
            made.pieces[i] = piece
        for token in data["added_tokens"]:
            made.pieces[token["id"]] = token["content"]
        made.ids = {piece: i for i, piece in enumerate(made.pieces)}
        return made
