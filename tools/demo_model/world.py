"""The small closed world that the demo model knows, and the ways to ask about it."""

from words import ANIMALS

CAPITALS = {
    "France": "Paris",
    "Japan": "Tokyo",
    "Italy": "Rome",
    "Spain": "Madrid",
    "Germany": "Berlin",
    "Egypt": "Cairo",
    "Norway": "Oslo",
    "Sweden": "Stockholm",
    "Finland": "Helsinki",
    "Denmark": "Copenhagen",
    "Poland": "Warsaw",
    "Austria": "Vienna",
    "Hungary": "Budapest",
    "Greece": "Athens",
    "Portugal": "Lisbon",
    "Ireland": "Dublin",
    "Iceland": "Reykjavik",
    "Kenya": "Nairobi",
    "Canada": "Ottawa",
    "Mexico": "Mexico City",
    "Cuba": "Havana",
    "Peru": "Lima",
    "Chile": "Santiago",
    "Brazil": "Brasilia",
    "Argentina": "Buenos Aires",
    "India": "New Delhi",
    "China": "Beijing",
    "Thailand": "Bangkok",
    "Vietnam": "Hanoi",
    "Australia": "Canberra",
    "Turkey": "Ankara",
}

COLOUR_OF = {
    "the sky": "blue",
    "grass": "green",
    "snow": "white",
    "coal": "black",
    "a banana": "yellow",
    "a lemon": "yellow",
    "a ripe tomato": "red",
    "a carrot": "orange",
    "a pumpkin": "orange",
    "milk": "white",
    "a raven": "black",
    "the sun": "yellow",
    "a strawberry": "red",
    "a frog": "green",
    "chocolate": "brown",
    "a flamingo": "pink",
    "a fire engine": "red",
    "a polar bear": "white",
    "an elephant": "grey",
    "a lime": "green",
}

SOUND_OF = {
    "dog": "barks",
    "cat": "meows",
    "cow": "moos",
    "duck": "quacks",
    "horse": "neighs",
    "lion": "roars",
    "sheep": "bleats",
    "pig": "oinks",
    "owl": "hoots",
    "frog": "croaks",
    "bee": "buzzes",
    "snake": "hisses",
    "wolf": "howls",
    "mouse": "squeaks",
    "donkey": "brays",
    "crow": "caws",
}

YOUNG_OF = {
    "dog": "puppy",
    "cat": "kitten",
    "cow": "calf",
    "horse": "foal",
    "sheep": "lamb",
    "pig": "piglet",
    "duck": "duckling",
    "hen": "chick",
    "goat": "kid",
    "bear": "cub",
    "deer": "fawn",
    "swan": "cygnet",
    "frog": "tadpole",
    "goose": "gosling",
    "owl": "owlet",
}

LEGS_OF = {
    "dog": "four",
    "spider": "eight",
    "ant": "six",
    "bee": "six",
    "hen": "two",
    "horse": "four",
    "snake": "no",
    "duck": "two",
    "cat": "four",
    "cow": "four",
    "fish": "no",
    "beetle": "six",
    "robin": "two",
    "snail": "no",
}

OPPOSITES = [
    ("hot", "cold"),
    ("big", "small"),
    ("fast", "slow"),
    ("happy", "sad"),
    ("light", "dark"),
    ("wet", "dry"),
    ("old", "young"),
    ("rich", "poor"),
    ("strong", "weak"),
    ("early", "late"),
    ("open", "closed"),
    ("full", "empty"),
    ("high", "low"),
    ("loud", "quiet"),
    ("hard", "soft"),
    ("near", "far"),
    ("thick", "thin"),
    ("clean", "dirty"),
    ("brave", "afraid"),
    ("up", "down"),
    ("left", "right"),
    ("day", "night"),
    ("first", "last"),
    ("always", "never"),
    ("sweet", "sour"),
    ("wide", "narrow"),
    ("deep", "shallow"),
    ("begin", "end"),
    ("push", "pull"),
    ("win", "lose"),
]

PLURALS = {
    "mouse": "mice",
    "child": "children",
    "foot": "feet",
    "tooth": "teeth",
    "goose": "geese",
    "man": "men",
    "woman": "women",
    "leaf": "leaves",
    "knife": "knives",
    "wolf": "wolves",
    "baby": "babies",
    "box": "boxes",
    "fox": "foxes",
    "bus": "buses",
    "city": "cities",
    "sheep": "sheep",
    "fish": "fish",
    "person": "people",
    "dish": "dishes",
    "berry": "berries",
    "book": "books",
    "cat": "cats",
    "half": "halves",
    "potato": "potatoes",
    "tomato": "tomatoes",
    "ox": "oxen",
    "life": "lives",
    "story": "stories",
    "brush": "brushes",
    "lamp": "lamps",
}

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = (
    "January February March April May June July August September October November December".split()
)
SEASONS = "spring summer autumn winter".split()

COUNTS = {
    "days in a week": "seven",
    "months in a year": "twelve",
    "hours in a day": "twenty-four",
    "minutes in an hour": "sixty",
    "seconds in a minute": "sixty",
    "seasons in a year": "four",
    "letters in the alphabet": "twenty-six",
    "wheels on a bicycle": "two",
    "wheels on a car": "four",
    "sides on a triangle": "three",
    "sides on a square": "four",
    "fingers on a hand": "five",
    "eggs in a dozen": "twelve",
}


def article(noun):
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def capital(text):
    return text[0].upper() + text[1:]


def _capital_facts():
    for country, city in CAPITALS.items():
        yield f"capital {country}", [
            f"What is the capital of {country}?",
            f"What's the capital of {country}?",
            f"Name the capital of {country}.",
            f"Which city is the capital of {country}?",
            f"Tell me the capital of {country}.",
            f"{country}'s capital?",
            f"Do you know the capital of {country}?",
            f"capital of {country}",
            f"What is {country}'s capital city?",
            f"I need the capital of {country}, please.",
            f"The capital city of {country} is which one?",
            f"Can you tell me what the capital of {country} is?",
            f"{country} has which capital?",
            f"{country}: what is its capital?",
            f"{country} and its capital?",
        ], f"The capital of {country} is {city}."
        yield f"country {city}", [
            f"{city} is the capital of which country?",
            f"Which country has {city} as its capital?",
            f"What country is {city} the capital of?",
            f"Of which country is {city} the capital?",
            f"Tell me which country's capital is {city}.",
            f"Whose capital is {city}?",
            f"Name the country whose capital is {city}.",
            f"In which country is {city}?",
            f"Where is {city}?",
            f"{city} is in which country?",
            f"{city} is the capital of what?",
            f"{city}: capital of which country?",
        ], f"{city} is the capital of {country}."


def _colour_facts():
    for thing, colour in COLOUR_OF.items():
        yield f"colour {thing}", [
            f"What colour is {thing}?",
            f"Which colour is {thing}?",
            f"Tell me the colour of {thing}.",
            f"What is the colour of {thing}?",
            f"What color is {thing}?",
            f"What's the colour of {thing}?",
            f"Do you know what colour {thing} is?",
            f"The colour of {thing}, please?",
            f"{capital(thing)} is what colour?",
        ], f"{capital(thing)} is {colour}."


def _animal_facts():
    for animal, sound in SOUND_OF.items():
        yield f"sound {animal}", [
            f"What does {article(animal)} do when it makes a sound?",
            f"What sound does {article(animal)} make?",
            f"Which noise does {article(animal)} make?",
            f"What noise does the {animal} make?",
            f"Tell me the sound of {article(animal)}.",
            f"How does {article(animal)} sound?",
            f"What sound do you hear from {article(animal)}?",
        ], f"{capital(article(animal))} {sound}."
        yield f"who {sound}", [
            f"Which animal {sound}?",
            f"What animal {sound}?",
            f"Tell me which animal {sound}.",
            f"Name an animal that {sound}.",
            f"It {sound}. Which animal is it?",
            f"Do you know which animal {sound}?",
        ], f"{capital(article(animal))} {sound}."
    for animal, young in YOUNG_OF.items():
        yield f"young {animal}", [
            f"What is a young {animal} called?",
            f"What is a baby {animal} called?",
            f"What do you call a baby {animal}?",
            f"Name the young of {article(animal)}.",
            f"What do we call a young {animal}?",
            f"A baby {animal} is called what?",
            f"Tell me the word for a young {animal}.",
        ], f"A young {animal} is called {article(young)}."
        yield f"grown {young}", [
            f"What does {article(young)} grow into?",
            f"What does {article(young)} become?",
            f"Which animal is {article(young)} when it is grown up?",
            f"{capital(article(young))} is the young of which animal?",
            f"What will {article(young)} be when it grows up?",
            f"Of which animal is {article(young)} the young?",
            f"{capital(article(young))} grows into what?",
            f"{capital(article(young))} turns into which animal?",
        ], f"{capital(article(young))} grows into {article(animal)}."
    for animal, legs in LEGS_OF.items():
        yield f"legs {animal}", [
            f"How many legs does {article(animal)} have?",
            f"How many legs has {article(animal)}?",
            f"Tell me how many legs {article(animal)} has.",
            f"What number of legs does {article(animal)} have?",
            f"{capital(article(animal))} has how many legs?",
            f"Count the legs of {article(animal)}.",
        ], f"{capital(article(animal))} has {legs} legs."


def _word_facts():
    for pair in OPPOSITES:
        for word, other in (pair, pair[::-1]):
            yield f"opposite {word}", [
                f"What is the opposite of {word}?",
                f"What's the opposite of {word}?",
                f"Name the opposite of {word}.",
                f"Which word is the opposite of {word}?",
                f'Give me the opposite of "{word}".',
                f"opposite of {word}",
                f"Tell me the opposite of {word}.",
                f"If it is not {word}, what is the opposite?",
                f"What word means the opposite of {word}?",
                f'What is the opposite of "{word}"?',
                f'"{word}" is the opposite of what?',
                f"{capital(word)} has which opposite?",
            ], f"The opposite of {word} is {other}."
    for one, many in PLURALS.items():
        yield f"plural {one}", [
            f"What is the plural of {one}?",
            f"What's the plural of {one}?",
            f"Plural of {one}?",
            f"Give the plural of {one}.",
            f"How do you write more than one {one}?",
            f"One {one}, two what?",
            f'Tell me the plural of "{one}".',
            f"What is the plural form of {one}?",
            f'What is the plural of "{one}"?',
            f'"{one}" in the plural?',
            f"{capital(one)}, in the plural?",
        ], f"The plural of {one} is {many}."
        if one != many:
            yield f"singular {many}", [
                f"What is the singular of {many}?",
                f"What's the singular of {many}?",
                f"Singular of {many}?",
                f"Give the singular of {many}.",
                f"Many {many}, one what?",
                f'Tell me the singular of "{many}".',
                f"What is the singular form of {many}?",
                f'What is the singular of "{many}"?',
                f'"{many}" in the singular?',
                f"{capital(many)}, in the singular?",
            ], f"The singular of {many} is {one}."


def _order_facts():
    for name, ring in (("day", DAYS), ("month", MONTHS), ("season", SEASONS)):
        for i, item in enumerate(ring):
            after, before = ring[(i + 1) % len(ring)], ring[i - 1]
            yield f"after {item}", [
                f"What {name} comes after {item}?",
                f"Which {name} follows {item}?",
                f"What comes after {item}?",
                f"Tell me the {name} after {item}.",
                f"After {item} comes which {name}?",
                f"Which {name} is next after {item}?",
                f"It is {item} now. What {name} comes next?",
            ], f"{capital(after)} comes after {item}."
            yield f"before {item}", [
                f"What {name} comes before {item}?",
                f"Which {name} is just before {item}?",
                f"What comes before {item}?",
                f"Tell me the {name} before {item}.",
                f"Before {item} comes which {name}?",
                f"Which {name} is followed by {item}?",
            ], f"{capital(before)} comes before {item}."
    for thing, count in COUNTS.items():
        where, verb = thing.split(" ", 1)
        yield f"count {thing}", [
            f"How many {thing[:thing.index(' ')]} are there {verb}?",
            f"How many {where} {verb} are there?",
            f"Tell me how many {where} there are {verb}.",
            f"What is the number of {thing}?",
            f"How many {thing}?",
            f"Do you know how many {where} there are {verb}?",
        ], f"There are {count} {thing}."


def facts():
    """All facts: (key, the ways to ask, the answer)."""
    for group in (_capital_facts, _colour_facts, _animal_facts, _word_facts, _order_facts):
        yield from group()
