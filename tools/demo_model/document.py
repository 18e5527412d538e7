"""A training document: pieces of text, each to be learned or only read."""

import hashlib
from dataclasses import dataclass, field

IM_START, IM_END, END = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
SPECIALS = [
    END,
    IM_START,
    IM_END,
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<tools>",
    "</tools>",
]


@dataclass
class Document:
    """Pieces (text, learned), and for a test the questions and what is expected."""

    domain: str
    pieces: list = field(default_factory=list)
    messages: list = field(default_factory=list)
    tools: list = field(default_factory=list)

    def text(self):
        return "".join(piece for piece, _ in self.pieces)


def held_out(*key, share=8):
    """Whether what the key names is kept for tests: one of `share`, the same in every run."""
    digest = hashlib.blake2b("\x1f".join(map(str, key)).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") % share == 0


class Chat:
    """Builds a chat in ChatML, exactly as the model's template writes it."""

    def __init__(self, domain):
        self.document = Document(domain)

    def _turn(self, role, text, learned):
        pieces = self.document.pieces
        pieces.append((f"{IM_START}{role}\n", False))
        pieces.append((f"{text}{IM_END}", learned))
        pieces.append(("\n", False))
        self.document.messages.append({"role": role, "content": text})
        return self

    def system(self, text):
        return self._turn("system", text, False)

    def user(self, text):
        return self._turn("user", text, False)

    def tool(self, text):
        self._turn("user", f"<tool_response>\n{text}\n</tool_response>", False)
        self.document.messages[-1] = {"role": "tool", "content": text}
        return self

    def assistant(self, text):
        return self._turn("assistant", text, True)

    def done(self):
        return self.document


def story(text):
    """A document that is no chat."""
    return Document("story", [(text, True), (END, True)])
