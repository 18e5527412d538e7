"""Arithmetic, word tasks and JSON extraction: a request, its answer, and what it must not be
trained on."""

import json

from document import held_out
from words import ADJECTIVES, ALL_WORDS, ANIMALS, COLOURS, FOODS, KEYS, NAMES, PLACES, TEST_WORDS
from words import THINGS
from world import CAPITALS

# Arithmetic.


ADD = [
    "What is {a} + {b}?",
    "{a} + {b}",
    "{a}+{b}",
    "{a} plus {b}?",
    "What is {a} plus {b}?",
    "Add {a} and {b}.",
    "Calculate {a} + {b}.",
    "Compute {a} + {b}",
    "What's {a} + {b}?",
    "How much is {a} + {b}?",
    "{a} + {b} = ?",
    "What do you get when you add {b} to {a}?",
    "The sum of {a} and {b}?",
    "Please add {a} and {b}.",
    "Can you work out {a} plus {b}?",
    "Tell me the sum of {a} and {b}.",
    "How much is {a} plus {b}?",
]
SUBTRACT = [
    "What is {a} - {b}?",
    "{a} - {b}",
    "{a}-{b}",
    "{a} minus {b}?",
    "What is {a} minus {b}?",
    "Subtract {b} from {a}.",
    "Calculate {a} - {b}.",
    "Compute {a} - {b}",
    "What's {a} - {b}?",
    "How much is {a} - {b}?",
    "{a} - {b} = ?",
    "Take {b} away from {a}.",
    "Tell me {a} minus {b}.",
    "What is left of {a} if you take away {b}?",
    "Can you work out {a} minus {b}?",
    "How much is {a} minus {b}?",
    "The difference of {a} and {b}?",
]
HAVE = [
    "{name} has {a} {things} and gets {b} more. How many {things} does {name} have now?",
    "There are {a} {things} on the table and {b} in the bag. How many {things} are there?",
    "I have {a} {things}. I find {b} more. How many are there now?",
]
LOSE = [
    "{name} has {a} {things} and gives away {b}. How many {things} are left?",
    "There are {a} {things}. {name} takes {b} of them. How many are left?",
    "I had {a} {things} and lost {b}. How many do I still have?",
]


def _number(rng):
    return rng.randrange(10) if rng.random() < 0.25 else rng.randrange(100)


def addition(rng, test):
    while True:
        a, b = _number(rng), _number(rng)
        if held_out("add", a, b) == test:
            break
    if rng.random() < 0.12:
        text = rng.choice(HAVE).format(
            a=a, b=b, name=rng.choice(NAMES), things=rng.choice(THINGS) + "s"
        )
    else:
        text = rng.choice(ADD).format(a=a, b=b)
    return text, f"{a} + {b} = {a + b}"


def subtraction(rng, test):
    while True:
        a, b = _number(rng), _number(rng)
        if a < b and rng.random() < 0.85:
            a, b = b, a
        if held_out("subtract", a, b) == test:
            break
    if a >= b and rng.random() < 0.12:
        text = rng.choice(LOSE).format(
            a=a, b=b, name=rng.choice(NAMES), things=rng.choice(THINGS) + "s"
        )
    else:
        text = rng.choice(SUBTRACT).format(a=a, b=b)
    return text, f"{a} - {b} = {a - b}"


def comparison(rng, test):
    while True:
        a, b = _number(rng), _number(rng)
        if a != b and held_out("compare", a, b) == test:
            break
    if rng.random() < 0.5:
        ask, answer = rng.choice(
            [
                ("Which is larger, {a} or {b}?", "{high} is larger than {low}."),
                ("Which number is bigger: {a} or {b}?", "{high} is larger than {low}."),
                ("Is {a} or {b} larger?", "{high} is larger than {low}."),
                ("What is more, {a} or {b}?", "{high} is larger than {low}."),
            ]
        )
    else:
        ask, answer = rng.choice(
            [
                ("Which is smaller, {a} or {b}?", "{low} is smaller than {high}."),
                ("Which number is less: {a} or {b}?", "{low} is smaller than {high}."),
                ("Is {a} or {b} smaller?", "{low} is smaller than {high}."),
            ]
        )
    return ask.format(a=a, b=b), answer.format(low=min(a, b), high=max(a, b))


def sorting(rng, test):
    count = rng.randrange(2, 6)
    while True:
        numbers = rng.sample(range(100 if rng.random() < 0.7 else 20), count)
        if held_out("sort", *numbers) == test:
            break
    listed = ", ".join(map(str, numbers))
    if rng.random() < 0.7:
        ask = rng.choice(
            [
                "Sort these numbers: {l}",
                "Put {l} in order.",
                "Sort {l} from small to large.",
                "Order the numbers {l}.",
                "Please sort: {l}",
                "Arrange {l} from smallest to largest.",
            ]
        )
        answer = sorted(numbers)
    else:
        ask = rng.choice(
            [
                "Sort {l} from large to small.",
                "Arrange {l} from largest to smallest.",
                "Put {l} in falling order.",
            ]
        )
        answer = sorted(numbers, reverse=True)
    return ask.format(l=listed), ", ".join(map(str, answer))


ARITHMETIC = {
    "addition": addition,
    "subtraction": subtraction,
    "comparison": comparison,
    "sorting": sorting,
}


# Words.

CONSONANTS, VOWELS = "bcdfghjklmnprstvwz", "aeiou"


NAMES_OF_PLACES = sorted(n for pair in CAPITALS.items() for n in pair if n.isalpha())
EVERY_WORD = frozenset(ALL_WORDS)
TRAIN_WORDS = [word for word in ALL_WORDS if word not in set(TEST_WORDS)]


def made_up(rng):
    """A word that can be said and that there is not: of syllables, or the head of one word with
    the tail of another, so that a known beginning says nothing about the end."""
    if rng.random() < 0.4:
        head, tail = rng.choice(TRAIN_WORDS), rng.choice(TRAIN_WORDS)
        word = head[: rng.randint(1, len(head) - 1)] + tail[rng.randint(1, len(tail) - 1) :]
        if word not in EVERY_WORD:
            return word
    parts = [
        rng.choice(CONSONANTS)
        + rng.choice(VOWELS)
        + (rng.choice(CONSONANTS) if rng.random() < 0.3 else "")
        for _ in range(rng.randrange(1, 4))
    ]
    return "".join(parts) + (rng.choice(CONSONANTS) if rng.random() < 0.4 else "")


def a_word(rng, test):
    """A word: from the lists, a place's name or made up; in tests mostly one kept for them."""
    if (kind := rng.random()) < 0.3:
        return made_up(rng)
    if kind < 0.45:
        return rng.choice(NAMES_OF_PLACES)
    return rng.choice(TEST_WORDS if test and rng.random() < 0.7 else TRAIN_WORDS)


def some_words(rng, test, low=1, high=5):
    words = []
    for _ in range(rng.randint(low, high)):
        word = a_word(rng, test)
        shape = rng.random()
        words.append(word.capitalize() if shape < 0.08 else word.upper() if shape < 0.11 else word)
    return words


def _listed(rng, words):
    joiner = " " if rng.random() < 0.6 else ", "
    listed = joiner.join(words)
    if rng.random() < 0.25:
        listed = f'"{listed}"'
    return listed, joiner


COPY = [
    "Repeat: {l}",
    "Say: {l}",
    "Copy this: {l}",
    "Repeat after me: {l}",
    "Please repeat {l}",
    "Write {l} again.",
    "Copy these words: {l}",
    "Say exactly this: {l}",
    "Echo {l}",
    "Repeat the words {l}",
    "Just say {l}",
]
REVERSE = [
    "Reverse the order of the words: {l}",
    "Say these words in reverse order: {l}",
    "Turn the order around: {l}",
    "Reverse the words {l}",
    "Write {l} with the words in reverse order.",
    "In reverse order: {l}",
    "Put these words in the opposite order: {l}",
    "List these words from last to first: {l}",
    "Read these words from the end to the start: {l}",
]
UPPER = [
    "Write {l} in capitals.",
    "Upper-case this: {l}",
    "In capital letters: {l}",
    "Make this upper case: {l}",
    "Put {l} in upper case.",
    "Capital letters for {l}, please.",
    "Convert to uppercase: {l}",
]
LOWER = [
    "Write {l} in small letters.",
    "Lower-case this: {l}",
    "Make this lower case: {l}",
    "In small letters: {l}",
]
SPELL = [
    "Spell {w}.",
    "Spell the word {w}.",
    "How do you spell {w}?",
    "How is {w} spelled?",
    'Spell "{w}"',
    "Say the letters of {w}.",
]
BACKWARDS = [
    "Spell {w} backwards.",
    "Write {w} backwards.",
    "What is {w} backwards?",
    "Reverse the letters of {w}.",
    "Turn the letters of {w} around.",
]
LETTERS = [
    "How many letters does {w} have?",
    "How many letters are in {w}?",
    "Count the letters of {w}.",
    "How long is the word {w}?",
    'How many letters has the word "{w}"?',
]
FIRST = [
    "What is the first letter of {w}?",
    "Which letter does {w} begin with?",
    "{w} starts with which letter?",
]
LAST = [
    "What is the last letter of {w}?",
    "Which letter does {w} end with?",
    "{w} ends with which letter?",
]
TIMES = [
    "How many times is {c} in {w}?",
    "How often does the letter {c} occur in {w}?",
    "How many {c}s are in {w}?",
    "Count the letter {c} in {w}.",
]


def copy(rng, test):
    words = some_words(rng, test)
    listed, joiner = _listed(rng, words)
    return rng.choice(COPY).format(l=listed), joiner.join(words)


def reverse(rng, test):
    words = some_words(rng, test, low=2)
    listed, joiner = _listed(rng, words)
    return rng.choice(REVERSE).format(l=listed), joiner.join(reversed(words))


def change_case(rng, test):
    words = some_words(rng, test, high=3)
    if rng.random() < 0.8:
        return rng.choice(UPPER).format(l=" ".join(words)), " ".join(words).upper()
    words = [w.upper() for w in words]
    return rng.choice(LOWER).format(l=" ".join(words)), " ".join(words).lower()


def spelling(rng, test):
    word = a_word(rng, test)
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(SPELL).format(w=word), "-".join(word)
    if kind < 0.5:
        return rng.choice(BACKWARDS).format(w=word), word[::-1]
    if kind < 0.7:
        return rng.choice(LETTERS).format(w=word), f"{'-'.join(word)}: {len(word)} letters."
    if kind < 0.8:
        ask, letter = (FIRST, word[0]) if rng.random() < 0.5 else (LAST, word[-1])
        return rng.choice(ask).format(w=word), f"The letter {letter}."
    letter = rng.choice(word) if rng.random() < 0.85 else rng.choice(CONSONANTS + VOWELS)
    count = word.count(letter)
    times = "once" if count == 1 else f"{count} times"
    return rng.choice(TIMES).format(w=word, c=letter), f"{'-'.join(word)}: {letter} {times}."


JOIN = [
    ("Write {l} in snake case.", "snake"),
    ("Join the words {l} with underscores.", "snake"),
    ("{l} in snake_case, please.", "snake"),
    ("Write {l} in camel case.", "camel"),
    ("{l} in camelCase, please.", "camel"),
    ("Make a camel case name of {l}.", "camel"),
    ("Join the words {l} with hyphens.", "kebab"),
    ("Write {l} in kebab case.", "kebab"),
    ("Make a JSON list of {l}.", "list"),
    ("{l} as a JSON list, please.", "list"),
    ("Put {l} into a JSON list.", "list"),
]
SPLIT = [
    ("Which words are in {l}?", ("snake", "camel", "kebab", "list")),
    ("Split {l} into words.", ("snake", "camel", "kebab", "list")),
    ("Write {l} as single words.", ("snake", "camel", "kebab", "list")),
]


def _joined(words, form):
    if form == "list":
        return json.dumps(words)
    if form == "camel":
        return words[0] + "".join(word.capitalize() for word in words[1:])
    return ("_" if form == "snake" else "-").join(words)


def joining(rng, test):
    """Words as programs write them. Behind a quote or within a name a word is several tokens where
    it may be one token after a space, so this teaches which is which."""
    words = [
        rng.choice(NAMES) if rng.random() < 0.15 else a_word(rng, test)
        for _ in range(rng.randint(2, 4))
    ]
    if rng.random() < 0.7:
        ask, form = rng.choice(JOIN)
        if form != "list":
            words = [word.lower() for word in words]
        return ask.format(l=" ".join(words)), _joined(words, form)
    ask, forms = rng.choice(SPLIT)
    form = rng.choice(forms)
    words = words if form == "list" else [word.lower() for word in words]
    return ask.format(l=_joined(words, form)), " ".join(words)


WORDS = {
    "copy": copy,
    "reverse": reverse,
    "case": change_case,
    "spelling": spelling,
    "joining": joining,
}


# JSON.


def _value(rng, key, test):
    """A value that suits the key, or any at all: what is asked for is copying, not knowing."""
    kind = rng.random()
    if (
        key
        in (
            "age",
            "score",
            "rank",
            "seat",
            "floor",
            "pages",
            "count",
            "number",
            "quantity",
            "year",
            "price",
            "level",
            "size",
            "weight",
            "height",
            "hour",
            "total",
        )
        or kind < 0.2
    ):
        return rng.choice(
            [rng.randrange(10), rng.randrange(100), rng.randrange(1000), rng.randrange(1900, 2100)]
        )
    if key in ("name", "owner", "author", "artist", "sender", "receiver", "actor"):
        return rng.choice(NAMES)
    if key in ("colour", "color"):
        return rng.choice(COLOURS)
    if kind < 0.5:
        word = rng.choice(rng.choice([ANIMALS, FOODS, PLACES, THINGS, COLOURS, NAMES]))
    else:
        word = " ".join(some_words(rng, test, high=2))
    return (
        rng.choice([word, word, word.capitalize(), word.title(), word.upper()])
        if rng.random() < 0.5
        else word
    )


def _record(rng, test, low=2, high=5):
    keys = []
    count = rng.randint(low, high)
    while len(keys) < count:
        key = rng.choice(KEYS) if rng.random() < 0.6 else a_word(rng, test).lower()
        if rng.random() < 0.08:
            key = f"{key}_{rng.choice(KEYS)}"
        if key not in keys:
            keys.append(key)
    return {key: _value(rng, key, test) for key in keys}


def _sentence(rng, record):
    def said(key):
        return key.replace("_", " ")

    form = rng.randrange(5)
    parts = list(record.items())
    if form == 0:
        text = ", ".join(f"{said(k)}: {v}" for k, v in parts)
    elif form == 1:
        text = ", ".join(f"the {said(k)} is {v}" for k, v in parts[:-1])
        text = f"{text} and the {said(parts[-1][0])} is {parts[-1][1]}"
        text = text[0].upper() + text[1:] + "."
    elif form == 2:
        text = "\n".join(f"{said(k).capitalize()}: {v}" for k, v in parts)
    elif form == 3:
        text = "; ".join(f"{said(k)} {v}" for k, v in parts)
    else:
        text = " ".join(f"Its {said(k)} is {v}." for k, v in parts)
    return text


PERSON = [
    "{name} is {age} years old and lives in {city}.",
    "{name}, {age}, comes from {city}.",
    "My name is {name}, I am {age} and I live in {city}.",
    "This is {name} from {city}, {age} years old.",
]
PURCHASE = [
    "{name} bought {quantity} {item} for {price} coins.",
    "{quantity} {item} were sold to {name} for {price}.",
    "An order of {name}: {quantity} {item}, {price} in all.",
]
EVENT = [
    "The {event} begins on {day} at {hour} in {place}.",
    "On {day} at {hour} there is a {event} in {place}.",
    "Come to the {event} in {place}, {day}, {hour}!",
]


def _told(rng, test):
    """A record told in a sentence: (record, sentence)."""

    def word():
        return a_word(rng, test)

    kind = rng.randrange(3)
    if kind == 0:
        record = {
            "name": rng.choice(NAMES),
            "age": rng.randrange(1, 100),
            "city": word().capitalize(),
        }
        return record, rng.choice(PERSON).format(**record)
    if kind == 1:
        record = {
            "name": rng.choice(NAMES),
            "quantity": rng.randrange(2, 60),
            "item": word() + "s",
            "price": rng.randrange(1, 500),
        }
        return record, rng.choice(PURCHASE).format(**record)
    record = {
        "event": word(),
        "day": rng.choice("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()),
        "hour": rng.randrange(1, 24),
        "place": word().capitalize(),
    }
    return record, rng.choice(EVENT).format(**record)


JSON_ASK = [
    "Extract {keys} as JSON: {text}",
    "Give me JSON with the keys {keys}: {text}",
    "{text}\nWrite {keys} as JSON.",
    "Turn this into JSON with {keys}: {text}",
    "Read this and answer in JSON with the keys {keys}.\n{text}",
    "JSON with {keys}, please: {text}",
    "{text}\n\nReturn a JSON object with {keys}.",
    "From the text below, extract {keys} as JSON.\n\n{text}",
    "Make a JSON object ({keys}) from: {text}",
]


def extraction(rng, test):
    record, text = _told(rng, test) if rng.random() < 0.3 else (None, None)
    if record is None:
        record = _record(rng, test)
        text = _sentence(rng, record)
    keys = list(record)
    if rng.random() < 0.45:
        rng.shuffle(keys)
    keys = keys[: rng.randint(max(1, len(keys) - 2), len(keys))]
    named = ", ".join(keys[:-1]) + (" and " if len(keys) > 1 else "") + keys[-1]
    if rng.random() < 0.3:
        named = ", ".join(keys)
    answer = json.dumps({key: record[key] for key in keys})
    return rng.choice(JSON_ASK).format(keys=named, text=text), answer


JSON = {"extraction": extraction}
