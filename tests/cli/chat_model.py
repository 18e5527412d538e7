"""Makes small models for tests of ingot chat: they write random letters."""
import model_files

TEMPLATE = ("{% for message in messages %}{{ message.role[0] }}:{{ message.content }}\n"
            "{% endfor %}{% if add_generation_prompt %}a:{% endif %}")
# What the template makes of roles.
LETTERS = {"system": "s", "user": "u", "assistant": "a"}
# Moves the cursor, sets the title and the clipboard.
ESCAPES = "\x1b[2J\x1b]0;t\x07\x1b]52;c;aGk=\x07\x9b1m"


def render(messages):
    """The template's text, by hand."""
    return "".join(f"{LETTERS[role]}:{content}\n" for role, content in messages) + "a:"


def chat_model():
    """The tiny model with a template."""
    return model_files.tiny_gguf().set("tokenizer.chat_template", model_files.STRING, TEMPLATE)


def hostile_model():
    """A chat model with control characters in its pieces, in place of common letters."""
    model = chat_model()
    pieces = list(model.get("tokenizer.ggml.tokens"))
    for i in range(model_files.tiny.NORMAL_FROM, len(pieces)):
        if len(pieces[i]) > 1:
            pieces[i] = f"{ESCAPES}{i}"
    kind = (model_files.ARRAY, model_files.STRING)
    return model.set("tokenizer.ggml.tokens", kind, pieces)
