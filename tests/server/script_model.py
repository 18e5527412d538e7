"""Makes a model that always gives one scripted reply: a prompt's last token leads to the script's
first token, each token to the next one, and the last token to the end."""
import array
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import model_files  # noqa: E402  (found through the line above)
from model_files import ARRAY, INT32, STRING, tiny  # noqa: E402

EOS = 2
USER_DEFINED = 4  # GGUF's type of a token
CONTEXT = 4096
WEIGHT = 40.0  # the wanted logit, where all others are 0

TEMPLATE = ("{% for message in messages %}{{ message.role[0] }}:"
            "{% if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>"
            "{% endif %}{{ message.content }}\n{% endfor %}"
            "{% if add_generation_prompt %}a:{% endif %}")


def floats(rows):
    values = array.array("f", (value for row in rows for value in row))
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def script_model(script, template=TEMPLATE, control=(), defined=(), ends=(), named=None):
    """The file of a model that says `script`, a list of different pieces. Its last tokens are the
    control tokens `control`. Pieces in `defined` are user-defined tokens: texts that contain such a
    piece are encoded with its token. A reply ends behind pieces in `ends` too.
    `named`: more chat templates by name. `template` may be None."""
    assert len(script) < tiny.HIDDEN and len(set(script)) == len(script)
    model = model_files.tiny_gguf()
    if template is not None:
        model.set("tokenizer.chat_template", STRING, template)
    for name, text in (named or {}).items():
        model.set("tokenizer.chat_template." + name, STRING, text)
    model.set("llama.context_length", tiny.UINT32, CONTEXT)
    pieces = list(model.get("tokenizer.ggml.tokens"))
    first = tiny.NORMAL_FROM
    ids = list(range(first, first + len(script)))
    for i, piece in zip(ids, script):
        pieces[i] = piece.replace(" ", tiny.SPACE)
    # Pieces that are left must not be those of the script once more.
    for i in range(first + len(script), len(pieces)):
        pieces[i] = f"<unused{i}>"
    types = list(model.get("tokenizer.ggml.token_type"))
    for i, name in enumerate(control, len(pieces) - len(control)):
        pieces[i], types[i] = name, tiny.CONTROL
    for i, piece in zip(ids, script):
        if piece in defined:
            types[i] = USER_DEFINED
    model.set("tokenizer.ggml.token_type", (ARRAY, INT32), types)
    model.set("tokenizer.ggml.tokens", (ARRAY, STRING), pieces)
    for entry in model.tensors:
        if entry[0].endswith(("attn_output.weight", "ffn_down.weight")):
            entry[3] = bytes(len(entry[3]))  # so that layers add nothing
        if entry[0].endswith("norm.weight"):
            entry[3] = floats([[1.0] * (len(entry[3]) // 4)])
    # Dimension 0 stands for "anything else", the others for the tokens of the script.
    place = {token: 1 + i for i, token in enumerate(ids)}
    embedding = [[float(d == place.get(token, 0)) for d in range(tiny.HIDDEN)]
                 for token in range(tiny.VOCAB)]
    leads = dict(enumerate([*ids, EOS]))
    leads.update((place[i], EOS) for i, piece in zip(ids, script) if piece in ends)
    output = [[WEIGHT * (leads.get(d) == token) for d in range(tiny.HIDDEN)]
              for token in range(tiny.VOCAB)]
    model.tensor("token_embd.weight")[3] = floats(embedding)
    model.tensor("output.weight")[3] = floats(output)
    return model.build()
