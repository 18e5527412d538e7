"""Small talk, the model's name and origin, and chats whose later turns refer to earlier ones."""

import stories
import tasks
import unknown
from document import held_out
from words import ANIMALS, COLOURS, FOODS, NAMES, THINGS
from world import CAPITALS, COLOUR_OF, DAYS, MONTHS, OPPOSITES, PLURALS, YOUNG_OF, article, capital

SYSTEMS = [
    "You are a helpful assistant.",
    "You are a friendly assistant.",
    "You are ingot's demo model.",
    "Be brief.",
    "Answer in one sentence.",
    "You are a small model. Answer honestly.",
    "Help the user.",
    "Be kind and helpful.",
    "You are a helpful assistant. Answer shortly.",
]

SIMPLE = [
    (
        [
            "Hello!",
            "Hi!",
            "Hi there!",
            "Hey!",
            "Hello",
            "hi",
            "Good day!",
            "Hello there.",
            "Greetings!",
            "hey there",
        ],
        ["Hello! How can I help you?", "Hi! What can I do for you?"],
    ),
    (["Good morning!", "Good morning."], ["Good morning! How can I help you?"]),
    (["Good evening!", "Good evening."], ["Good evening! How can I help you?"]),
    (["Good night!", "Good night."], ["Good night! Sleep well."]),
    (
        [
            "How are you?",
            "How are you doing?",
            "How do you feel?",
            "Are you well?",
            "How is it going?",
        ],
        ["I am fine, thank you. How can I help you?"],
    ),
    (
        ["Thank you!", "Thanks!", "Thank you very much.", "Thanks a lot!", "thx", "Great, thanks."],
        ["You are welcome!"],
    ),
    (
        ["Bye!", "Goodbye!", "See you!", "See you later.", "I have to go now.", "Farewell!"],
        ["Goodbye! Have a nice day."],
    ),
    (
        [
            "Well done!",
            "Good job!",
            "Very good!",
            "Nice!",
            "Great!",
            "You are clever.",
            "That is right.",
        ],
        ["Thank you! Is there anything else?"],
    ),
    (
        ["That is wrong.", "You are wrong.", "No, that is not right."],
        ["I am sorry. I am a small model and make mistakes."],
    ),
    (
        [
            "Who are you?",
            "What are you?",
            "Tell me about yourself.",
            "Introduce yourself.",
            "Who am I talking to?",
            "What is this?",
            "Are you a robot?",
            "Are you a person?",
            "Are you human?",
            "Are you a real person?",
        ],
        ["I am ingot's built-in demo model: small, and good for trying the engine."],
    ),
    (
        [
            "What is your name?",
            "What's your name?",
            "Do you have a name?",
            "How should I call you?",
            "Your name?",
        ],
        ["I have no name of my own. I am ingot's built-in demo model."],
    ),
    (
        [
            "What can you do?",
            "How can you help me?",
            "What are you good at?",
            "What do you know?",
            "Help",
            "help me",
            "What can I ask you?",
            "What may I ask?",
        ],
        [
            "I can chat, tell stories, add and subtract, copy and turn around words, "
            "write JSON and call tools."
        ],
    ),
    (
        [
            "Who made you?",
            "Who built you?",
            "Who trained you?",
            "Where do you come from?",
            "Who are your makers?",
        ],
        ["The makers of ingot trained me, on text that they generated themselves."],
    ),
    (
        [
            "How big are you?",
            "How many parameters do you have?",
            "Are you a large model?",
            "Are you big?",
        ],
        ["I am very small: about five million parameters."],
    ),
    (
        [
            "What is ingot?",
            "Tell me about ingot.",
            "What does ingot do?",
            "What is the ingot engine?",
        ],
        ["ingot is an engine that runs language models. I come with it, so that you can try it."],
    ),
    (
        [
            "Do you know everything?",
            "Are you very smart?",
            "Can I trust you?",
            "Do you make mistakes?",
        ],
        ["I know very little, and I make mistakes. I am here for trying the engine."],
    ),
]


def simple(rng, test):
    asks, answers = rng.choice(SIMPLE)
    return rng.choice(asks), rng.choice(answers)


# Turns that refer to earlier ones. Each gives a list of (user, assistant), of which a test
# scores the last.


def _tell_name(rng, test):
    while held_out("name", name := rng.choice(NAMES), share=6) != test:
        pass
    say = rng.choice(
        [
            "My name is {n}.",
            "I am {n}.",
            "I'm {n}.",
            "Hello, my name is {n}.",
            "Call me {n}.",
            "Hi, I am {n}!",
        ]
    )
    ask = rng.choice(
        [
            "What is my name?",
            "Do you remember my name?",
            "Who am I?",
            "What's my name?",
            "Say my name.",
        ]
    )
    return [(say.format(n=name), f"Nice to meet you, {name}!"), (ask, f"Your name is {name}.")]


def _tell_thing(rng, test):
    pools = {"colour": COLOURS, "food": FOODS, "animal": ANIMALS}
    # The colours are so few that perhaps none of them is held out.
    while True:
        what = rng.choice(list(pools))
        value = rng.choice(pools[what])
        if held_out("favourite", what, value, share=6) == test:
            break
    say = rng.choice(
        [
            "My favourite {w} is {v}.",
            "The {w} I like best is {v}.",
            "I like {v} best. It is my favourite {w}.",
        ]
    )
    ask = rng.choice(
        [
            "What is my favourite {w}?",
            "Which {w} do I like best?",
            "Do you remember my favourite {w}?",
        ]
    )
    return [
        (say.format(w=what, v=value), "I will remember that."),
        (ask.format(w=what), f"Your favourite {what} is {value}."),
    ]


def _possession(rng, test):
    while (
        held_out("have", colour := rng.choice(COLOURS), thing := rng.choice(THINGS), share=6)
        != test
    ):
        pass
    say = rng.choice(
        ["I have {a} {t}.", "There is {a} {t} on my table.", "I bought {a} {t} today."]
    )
    first = (say.format(a=article(colour), t=thing), "I will remember that.")
    return [
        first,
        (
            rng.choice([f"What colour is my {thing}?", f"Which colour does my {thing} have?"]),
            f"Your {thing} is {colour}.",
        ),
    ]


FIRST_ASKS = {
    "capital": "What is the capital of {}?",
    "colour": "What colour is {}?",
    "opposite": "What is the opposite of {}?",
    "plural": "What is the plural of {}?",
    "young": "What is a young {} called?",
}


def first_asks():
    """All questions that `_and_of` begins with: no fact that they ask for is held out there."""
    asked = {
        "capital": CAPITALS,
        "colour": COLOUR_OF,
        "opposite": [a for a, _ in OPPOSITES],
        "plural": PLURALS,
        "young": YOUNG_OF,
    }
    return {FIRST_ASKS[kind].format(thing) for kind, things in asked.items() for thing in things}


def _and_of(rng, test):
    """One fact after another, the second asked in a few words."""
    kind = rng.randrange(5)
    if kind == 0:
        a, b = rng.sample(list(CAPITALS), 2)
        turns = [
            (FIRST_ASKS["capital"].format(a), f"The capital of {a} is {CAPITALS[a]}."),
            (
                rng.choice(
                    [f"And of {b}?", f"And {b}?", f"What about {b}?", f"And the one of {b}?"]
                ),
                f"The capital of {b} is {CAPITALS[b]}.",
            ),
        ]
    elif kind == 1:
        a, b = rng.sample(list(COLOUR_OF), 2)
        turns = [
            (FIRST_ASKS["colour"].format(a), f"{capital(a)} is {COLOUR_OF[a]}."),
            (rng.choice([f"And {b}?", f"What about {b}?"]), f"{capital(b)} is {COLOUR_OF[b]}."),
        ]
    elif kind == 2:
        a, b = rng.sample(OPPOSITES, 2)
        turns = [
            (FIRST_ASKS["opposite"].format(a[0]), f"The opposite of {a[0]} is {a[1]}."),
            (
                rng.choice([f"And of {b[0]}?", f"What about {b[0]}?", f"And {b[0]}?"]),
                f"The opposite of {b[0]} is {b[1]}.",
            ),
        ]
    elif kind == 3:
        a, b = rng.sample(list(PLURALS), 2)
        turns = [
            (FIRST_ASKS["plural"].format(a), f"The plural of {a} is {PLURALS[a]}."),
            (
                rng.choice([f"And of {b}?", f"What about {b}?", f"And {b}?"]),
                f"The plural of {b} is {PLURALS[b]}.",
            ),
        ]
    else:
        a, b = rng.sample(list(YOUNG_OF), 2)
        turns = [
            (FIRST_ASKS["young"].format(a), f"A young {a} is called {article(YOUNG_OF[a])}."),
            (
                rng.choice(
                    [f"And a young {b}?", f"What about {article(b)}?", f"And {article(b)}?"]
                ),
                f"A young {b} is called {article(YOUNG_OF[b])}.",
            ),
        ]
    return turns if held_out("and of", *(u for u, _ in turns)) == test else _and_of(rng, test)


def _next(rng, test):
    name, ring = rng.choice([("day", DAYS), ("month", MONTHS)])
    i = rng.randrange(len(ring))
    item, after, later = ring[i], ring[(i + 1) % len(ring)], ring[(i + 2) % len(ring)]
    return [
        (f"What {name} comes after {item}?", f"{after} comes after {item}."),
        (
            rng.choice(
                ["And after that?", "And then?", "What comes next?", "And the one after that?"]
            ),
            f"{later} comes after {after}.",
        ),
    ]


def _more_sum(rng, test):
    while True:
        a, b, c = rng.randrange(50), rng.randrange(50), rng.randrange(1, 40)
        if held_out("more", a, b, c) == test:
            break
    first = (rng.choice(tasks.ADD).format(a=a, b=b), f"{a} + {b} = {a + b}")
    total = a + b
    if rng.random() < 0.6 or c > total:
        ask = rng.choice(
            [f"And add {c}?", f"Plus {c}?", f"Now add {c}.", f"Add {c} to that.", f"And {c} more?"]
        )
        return [first, (ask, f"{total} + {c} = {total + c}")]
    ask = rng.choice(
        [f"Minus {c}?", f"Now take away {c}.", f"Subtract {c} from that.", f"And {c} less?"]
    )
    return [first, (ask, f"{total} - {c} = {total - c}")]


def _again(rng, test):
    words = tasks.some_words(rng, test, high=4)
    first = (rng.choice(tasks.COPY).format(l=" ".join(words)), " ".join(words))
    kind = rng.randrange(3)
    if kind == 0:
        return [
            first,
            (
                rng.choice(["Again!", "Once more.", "Say it again.", "Repeat that.", "And again?"]),
                " ".join(words),
            ),
        ]
    if kind == 1:
        return [
            first,
            (
                rng.choice(
                    ["Now in reverse order.", "And in reverse order?", "Now turn the order around."]
                ),
                " ".join(reversed(words)),
            ),
        ]
    return [
        first,
        (
            rng.choice(["Now in capitals.", "And in capital letters?", "Now in upper case."]),
            " ".join(words).upper(),
        ),
    ]


def _what_asked(rng, test):
    ask, answer = rng.choice([simple, tasks.addition, tasks.copy])(rng, test)
    return [
        (ask, answer),
        (
            rng.choice(
                ["What did I just say?", "What did I ask you?", "What was my last message?"]
            ),
            f"You said: {ask}",
        ),
    ]


FOLLOW_UPS = [
    _tell_name,
    _tell_name,
    _tell_thing,
    _possession,
    _and_of,
    _and_of,
    _next,
    _more_sum,
    _again,
    _what_asked,
]


def follow_up(rng, test):
    """Turns of which the last refers to an earlier one, now and then with others between."""
    turns = rng.choice(FOLLOW_UPS)(rng, test)
    refers_back = turns[-1][0].startswith(
        ("What is my", "Do you remember", "Who am", "Which", "What's my", "What colour is my")
    )
    if refers_back and rng.random() < 0.5:
        between = [
            simple(rng, test),
            tasks.addition(rng, test),
            (unknown.question(rng, False), "I don't know that."),
        ]
        turns[1:1] = rng.sample(between, rng.choice([1, 1, 2]))
    return turns


def story_turns(rng, test):
    return [stories.requested(rng)]
