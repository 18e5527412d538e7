"""Tool calls: a system block that lists tools, requests that need one, two or none, and what
follows."""

import json

from document import held_out
from tasks import a_word, made_up
from words import KEYS, NAMES

INTRO = "You can call these tools:"
OUTRO = (
    'Answer with a call of the form <tool_call>\n{"name": ..., "arguments": {...}}\n</tool_call> '
    "where a tool is needed."
)

# Verb, thing, parameters with their types, ways to ask, and what a result looks like.
KNOWN = [
    (
        "get_weather",
        "Weather of a city",
        {"city": "string"},
        [
            "What is the weather in {city}?",
            "How is the weather in {city} today?",
            "Weather in {city}, please.",
            "Is it warm in {city}?",
            "Tell me the weather in {city}.",
        ],
    ),
    (
        "get_time",
        "Time in a city",
        {"city": "string"},
        ["What time is it in {city}?", "Tell me the time in {city}.", "How late is it in {city}?"],
    ),
    (
        "send_message",
        "Send a message to a person",
        {"to": "string", "text": "string"},
        [
            "Send {to} the message {text}.",
            "Tell {to}: {text}",
            "Write to {to}: {text}",
            "Message {to} saying {text}.",
        ],
    ),
    (
        "set_alarm",
        "Set an alarm",
        {"hour": "integer", "minute": "integer"},
        [
            "Wake me at {hour}:{minute}.",
            "Set an alarm for {hour}:{minute}.",
            "Alarm at {hour}:{minute}, please.",
        ],
    ),
    (
        "play_song",
        "Play a song",
        {"title": "string"},
        [
            "Play the song {title}.",
            "I want to hear {title}.",
            "Put on {title}.",
            "Can you play {title}?",
        ],
    ),
    (
        "add_event",
        "Add an event to the calendar",
        {"title": "string", "day": "string"},
        [
            "Put {title} on {day} in my calendar.",
            "Add {title} on {day}.",
            "I have {title} on {day}, note it.",
        ],
    ),
    (
        "find_route",
        "Find a way between places",
        {"origin": "string", "destination": "string"},
        [
            "How do I get from {origin} to {destination}?",
            "Find a way from {origin} to {destination}.",
            "Route from {origin} to {destination}, please.",
        ],
    ),
    (
        "convert_money",
        "Convert money",
        {"amount": "integer", "currency": "string"},
        [
            "Convert {amount} to {currency}.",
            "How much is {amount} in {currency}?",
            "Change {amount} into {currency}.",
        ],
    ),
    (
        "search_web",
        "Search the web",
        {"query": "string"},
        ["Search the web for {query}.", "Look up {query} on the web.", "Find pages about {query}."],
    ),
    (
        "buy_ticket",
        "Buy tickets",
        {"event": "string", "count": "integer"},
        [
            "Buy {count} tickets for {event}.",
            "I want {count} tickets for {event}.",
            "Get me {count} seats for {event}.",
        ],
    ),
    (
        "turn_on",
        "Turn a device on",
        {"device": "string"},
        ["Turn on the {device}.", "Switch the {device} on.", "Please turn the {device} on."],
    ),
    (
        "turn_off",
        "Turn a device off",
        {"device": "string"},
        ["Turn off the {device}.", "Switch the {device} off.", "Please turn the {device} off."],
    ),
    (
        "set_timer",
        "Start a timer",
        {"minutes": "integer"},
        [
            "Start a timer of {minutes} minutes.",
            "Timer for {minutes} minutes.",
            "Remind me in {minutes} minutes.",
        ],
    ),
    (
        "read_file",
        "Read a file",
        {"path": "string"},
        ["Read the file {path}.", "What is in {path}?", "Show me {path}."],
    ),
    (
        "create_note",
        "Write a note",
        {"text": "string"},
        [
            "Note: {text}",
            "Write down {text}.",
            "Make a note that says {text}.",
            "Take a note: {text}",
        ],
    ),
]

VERBS = """get find show list open close create delete update send check start stop book cancel
order move copy read
write count compare measure scan print share save load reset track rate review plan search fetch
add remove paint
translate record repair rent sell call email invite water feed clean lock unlock sort merge
split""".split()

GENERIC_ASK = [
    "{Verb} the {noun} with {args}.",
    "Please {verb} the {noun}, {args}.",
    "Can you {verb} a {noun}: {args}?",
    "{Verb} {noun}: {args}",
    "I want you to {verb} the {noun} with {args}.",
    "{Verb} a {noun} ({args}).",
    "I need to {verb} a {noun} where {args}.",
    "Use {tool} with {args}.",
    "Call {tool}: {args}",
    "Could you {verb} my {noun} with {args}?",
    "{Verb} {noun}, {args}, thanks.",
]
NO_ARGUMENTS = [
    "{Verb} the {noun}.",
    "Please {verb} the {noun}.",
    "Can you {verb} the {noun}?",
    "{Verb} {noun} now.",
    "I want you to {verb} the {noun}.",
]

CHAT_INSTEAD = [
    ("Hello!", "Hello! How can I help you?"),
    ("Thank you.", "You are welcome!"),
    ("Good morning.", "Good morning!"),
    ("Who are you?", "I am the small demo model that is built into ingot."),
    ("Bye!", "Goodbye!"),
    ("What can you do?", "With the tools that I was given I can help you. What do you need?"),
]
NO_TOOL = "None of my tools can do that."


NAME_FORMS = ["{verb}_{noun}", "{verb}_{noun}", "{verb}{Noun}", "{noun}_{verb}", "{verb}-{noun}"]
# Where choosing among tools is what is to be learned: no form is rare, and names are much alike.
HARD_NAME_FORMS = [*NAME_FORMS[1:], "{noun}_{verb}"]


def _value(rng, kind, test):
    if kind == "integer":
        return rng.choice([rng.randrange(10), rng.randrange(60), rng.randrange(1000)])
    form = rng.random()
    if form < 0.25:
        return rng.choice(NAMES)
    words = [a_word(rng, test) for _ in range(1 if form < 0.75 else 2 if form < 0.92 else 3)]
    return " ".join(words).capitalize() if rng.random() < 0.25 else " ".join(words)


class Tool:
    """A tool as the model sees it, and how a request for it is said."""

    def __init__(self, name, about, parameters, ask):
        self.name, self.about, self.parameters, self.ask = name, about, parameters, ask

    def spec(self):
        properties = {name: {"type": kind} for name, kind in self.parameters.items()}
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.about,
                "parameters": {
                    "type": "object",
                    "properties": properties,
                    "required": list(self.parameters),
                },
            },
        }

    def request(self, rng, test):
        arguments = {name: _value(rng, kind, test) for name, kind in self.parameters.items()}
        return self.ask(rng, arguments), arguments


def _known(rng):
    name, about, parameters, asks = rng.choice(KNOWN)
    return Tool(name, about, parameters, lambda r, values: r.choice(asks).format(**values))


def _noun(rng, test):
    return made_up(rng) if rng.random() < 0.15 and not test else a_word(rng, test).lower()


def _novel(rng, test, verb, noun, forms=NAME_FORMS):
    """A tool of a verb, a noun (or another, where the pair is not to be used here) and parameters
    that may occur once only."""
    while held_out("tool", verb, noun) != test:
        noun = a_word(rng, test).lower()
    name = rng.choice(forms).format(verb=verb, noun=noun, Noun=noun.capitalize())
    parameters = {}
    while len(parameters) < rng.choice([0, 1, 1, 1, 2, 2, 3]):
        key = rng.choice(KEYS) if rng.random() < 0.6 else a_word(rng, test).lower()
        parameters[f"{key}_{rng.choice(KEYS)}" if rng.random() < 0.08 else key] = rng.choice(
            ["string", "string", "integer"]
        )

    def ask(r, values):
        shape = r.randrange(3)
        said = [
            (
                f"{k.replace('_', ' ')} {v}"
                if shape == 0
                else (
                    f"{k.replace('_', ' ')} = {v}"
                    if shape == 1
                    else f"the {k.replace('_', ' ')} is {v}"
                )
            )
            for k, v in values.items()
        ]
        args = " and ".join(said) if r.random() < 0.6 else ", ".join(said)
        frame = r.choice(GENERIC_ASK if values else NO_ARGUMENTS)
        return frame.format(verb=verb, Verb=verb.capitalize(), noun=noun, tool=name, args=args)

    about = rng.choice(
        [f"{verb.capitalize()} the {noun}", f"{verb.capitalize()} a {noun}", f"Can {verb} a {noun}"]
    )
    return Tool(name, about, parameters, ask)


def some_tools(rng, test):
    """One to three tools, now and then two of one verb."""
    tools, verb = {}, None
    while len(tools) < rng.choice([1, 2, 2, 3, 3]):
        if rng.random() < 0.3 and not test:
            tool = _known(rng)
        else:
            verb = verb if verb and rng.random() < 0.15 else rng.choice(VERBS)
            tool = _novel(rng, test, verb, _noun(rng, test))
        tools[tool.name] = tool
    return list(tools.values())


def alike_tools(rng, counts):
    """Tools that share verbs and nouns and are told apart by their whole names only, one of these
    numbers of them."""
    tools, verbs, nouns = {}, [], []
    for _ in range(rng.choice(counts)):
        verbs.append(rng.choice(verbs) if verbs and rng.random() < 0.35 else rng.choice(VERBS))
        nouns.append(rng.choice(nouns) if nouns and rng.random() < 0.25 else _noun(rng, False))
        if rng.random() < 0.15:
            tool = _known(rng)
        else:
            tool = _novel(rng, False, verbs[-1], nouns[-1], HARD_NAME_FORMS)
        tools[tool.name] = tool
    return list(tools.values())


def system_block(tools, before=""):
    lines = "\n".join(json.dumps(tool.spec()) for tool in tools)
    return f"{before}{INTRO}\n<tools>\n{lines}\n</tools>\n{OUTRO}"


def call(name, arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


RESULTS = [
    lambda rng: ({"status": "ok"}, "Done."),
    lambda rng: ({"ok": True}, "Done."),
    lambda rng: (
        {"error": (w := rng.choice(["not found", "no access", "too late", "busy"]))},
        f"That did not work: {w}.",
    ),
    lambda rng: ((n := rng.randrange(1000)), f"The result is {n}."),
    lambda rng: ({(k := rng.choice(KEYS)): (v := a_word(rng, False))}, f"The {k} is {v}."),
    lambda rng: ({(k := rng.choice(KEYS)): (v := rng.randrange(500))}, f"The {k} is {v}."),
    lambda rng: (
        {
            (k := rng.choice(KEYS)): (v := rng.choice(NAMES)),
            (l := rng.choice(["total", "mark"])): (n := rng.randrange(90)),
        },
        f"The {k} is {v} and the {l} is {n}.",
    ),
]


# How many tools that are much alike, and how many requests, in the later parts of a training.
ALIKE_COUNTS = {1: (2, 2, 3, 3, 4), 2: (3, 4, 5, 6)}
REQUESTS = {0: (1, 1, 2, 3), 1: (2, 3, 4, 5, 6), 2: (4, 5, 6, 7)}


def tool_chat(rng, test, make_chat, unknown, part=0):
    """A document of some requests. `unknown(rng, test)` gives a question that no tool answers.
    `part` of the training: in later ones more requests, for tools that are much alike."""
    chat = make_chat("tools")
    hard = part > 0
    tools = alike_tools(rng, ALIKE_COUNTS[part]) if hard else some_tools(rng, test)
    requests = REQUESTS[part]
    chat.system(
        system_block(
            tools, rng.choice(["", "", "You are a helpful assistant.\n\n", "Be brief.\n\n"])
        )
    )
    fresh = list(tools)
    for _ in range(rng.choice(requests) if not test else 1):
        kind = rng.random()
        if kind < 0.72 or test:
            tool = rng.choice(fresh or tools)
            if hard and tool in fresh:
                fresh.remove(tool)
            _one_call(rng, test, chat, tool)
        elif kind < 0.85:
            _two_calls(rng, test, chat, tools)
        elif kind < 0.93:
            ask, answer = rng.choice(CHAT_INSTEAD)
            chat.user(ask).assistant(answer)
        else:
            chat.user(unknown(rng, test)).assistant(NO_TOOL)
    document = chat.done()
    document.tools = [tool.spec() for tool in tools]
    return document


MORE_TESTS = ("two_calls", "no_tool", "after_result")


def more_test(rng, kind, make_chat, unknown):
    """A held-out document of one of MORE_TESTS: a request that needs two calls, one that needs
    none, or what is said of a call's result."""
    chat = make_chat(kind)
    tools = some_tools(rng, True)
    chat.system(system_block(tools))
    if kind == "two_calls":
        _two_calls(rng, True, chat, tools)
    elif kind == "no_tool":
        chat.user(unknown(rng, True)).assistant(NO_TOOL)
    else:
        tool = rng.choice(tools)
        ask, arguments = tool.request(rng, True)
        result, said = rng.choice(RESULTS)(rng)
        chat.user(ask).assistant(call(tool.name, arguments))
        chat.tool(json.dumps(result)).assistant(said)
    document = chat.done()
    document.tools = [tool.spec() for tool in tools]
    return document


def _one_call(rng, test, chat, tool):
    ask, arguments = tool.request(rng, test)
    chat.user(ask).assistant(call(tool.name, arguments))
    if not test and rng.random() < 0.5:
        result, said = rng.choice(RESULTS)(rng)
        chat.tool(json.dumps(result)).assistant(said)


def _two_calls(rng, test, chat, tools):
    pair = [rng.choice(tools), rng.choice(tools)]
    asked = [tool.request(rng, test) for tool in pair]
    first, second = (text.rstrip(".?") for text, _ in asked)
    chat.user(
        rng.choice(
            [
                f"{first}, and then {second[0].lower()}{second[1:]}.",
                f"{first}. {second}.",
                f"{first}. Also, {second[0].lower()}{second[1:]}.",
            ]
        )
    )
    chat.assistant(
        "\n".join(call(tool.name, arguments) for tool, (_, arguments) in zip(pair, asked))
    )
