"""Short children's stories from a grammar: one hero, one want, one obstacle, one friend, one end,
all consistent."""

from words import ANIMALS, NAMES

TRAITS = {
    "brave": "was afraid of nothing",
    "shy": "did not like to talk to strangers",
    "curious": "asked about everything",
    "kind": "liked to help",
    "clever": "always had a plan",
    "lazy": "liked to sleep late",
    "gentle": "never hurt anyone",
    "funny": "made everybody laugh",
    "patient": "could wait for a long time",
    "careful": "looked twice before each step",
    "proud": "did not like to ask for help",
    "small": "could hide behind a leaf",
    "hungry": "thought about food all day",
    "busy": "never sat still",
}
HOMES = {
    "forest": "under an old oak",
    "meadow": "between tall flowers",
    "village": "in a small house with a red door",
    "farm": "behind the barn",
    "hill": "in a hole near the top",
    "garden": "below the rose bush",
    "harbour": "in an old boat",
    "valley": "beside a quiet stream",
    "island": "in a hut made of drift wood",
    "mountain": "in a dry cave",
}
WANTS = {
    "a warm coat": ("winter was near", "was warm all winter"),
    "a red kite": ("the wind was good", "flew the red kite every day"),
    "a friend": ("the evenings were long", "was never lonely again"),
    "a ripe pear": ("the pears smelled so sweet", "ate the pear slowly, bite by bite"),
    "a little boat": ("the lake was so wide", "sailed across the lake and back"),
    "a lost bell": ("the bell had been a gift", "rang the bell every morning"),
    "a bright lamp": ("the nights were dark", "read stories by the light of the lamp"),
    "a big pumpkin": ("the fair was on Sunday", "won the first prize at the fair"),
    "a drum": ("there was music in the air", "played the drum at every party"),
    "a golden leaf": ("autumn was almost over", "kept the golden leaf in a book"),
    "a pot of honey": ("bread alone was dull", "shared the honey with everyone"),
    "a new song": ("the old songs were known by all", "sang the new song to the moon"),
}
OBSTACLES = {
    "a deep river lay in the way": "build a bridge from a fallen tree",
    "a heavy stone closed the path": "push the stone aside with a long stick",
    "the night was too dark to see": "follow the fireflies",
    "a thick fog came up": "follow the sound of the church bell",
    "the wall was too high": "make a ladder from rope and branches",
    "a grumpy goose guarded the gate": "give the goose some bread and ask nicely",
    "the bridge was broken": "mend the bridge with planks and rope",
    "the snow was very deep": "make a sled from an old board",
    "the wind was too strong": "wait under a rock until the storm was over",
    "nobody knew the way": "climb the tallest tree and look around",
}
FEELINGS = ["happy", "glad", "proud", "very happy", "full of joy"]
LESSONS = [
    "Together it is easier.",
    "A friend makes a long way short.",
    "Who asks for help finds it.",
    "Small steps go far.",
    "It is good to be kind.",
    "Never give up too soon.",
    "Sharing makes two people happy.",
]
OPENINGS = [
    "Once upon a time there was {a} {trait} {kind} named {name}.",
    "Once upon a time, {a} {trait} {kind} named {name} lived in the {home}.",
    "There once was {a} {trait} {kind} whose name was {name}.",
    "In the {home} there lived {a} {trait} {kind} named {name}.",
    "Long ago {a} {trait} {kind} called {name} lived in the {home}.",
]


def _article(word):
    return "an" if word[0] in "aeiou" else "a"


def story(rng, kind=None, name=None, want=None):
    """A story; what is given is kept to."""
    kind = kind or (rng.choice(ANIMALS) if rng.random() < 0.75 else rng.choice(["boy", "girl"]))
    name = name or rng.choice(NAMES)
    want = want or rng.choice(list(WANTS))
    trait, home, obstacle = (
        rng.choice(list(TRAITS)),
        rng.choice(list(HOMES)),
        rng.choice(list(OBSTACLES)),
    )
    friend_kind = rng.choice([a for a in ANIMALS if a != kind])
    friend = rng.choice([n for n in NAMES if n != name])
    reason, end = WANTS[want]
    solution = OBSTACLES[obstacle]
    they = {"boy": "he", "girl": "she"}.get(kind, "it")
    text = [
        rng.choice(OPENINGS).format(a=_article(trait), trait=trait, kind=kind, name=name, home=home)
    ]
    text.append(
        rng.choice(
            [
                f"{name} {TRAITS[trait]} and lived {HOMES[home]}.",
                f"{name} lived {HOMES[home]} and {TRAITS[trait]}.",
            ]
        )
    )
    text.append(
        rng.choice(
            [
                f"More than anything {name} wanted {want}, because {reason}.",
                f"One day {name} wanted {want}, for {reason}.",
                f"{name} dreamed of {want}, because {reason}.",
            ]
        )
    )
    text.append(
        rng.choice(
            [
                f"So {they} set out early in the morning.",
                f"So {name} packed some bread and went to look for it.",
                f'"I will find it," said {name}, and off {they} went.',
            ]
        )
    )
    text.append(
        rng.choice(
            [
                f"But soon {obstacle}.",
                f"After a while {obstacle}.",
                f"But {obstacle}, and {name} had to stop.",
            ]
        )
    )
    text.append(
        rng.choice(
            [
                f"{name} sat down and sighed. Then {_article(friend_kind)} {friend_kind} "
                f"named {friend} came along.",
                f"Just then {_article(friend_kind)} {friend_kind} "
                f"named {friend} came by and asked what was wrong.",
                f"There {name} met {_article(friend_kind)} {friend_kind} named {friend}.",
            ]
        )
    )
    text.append(
        rng.choice(
            [
                f'"I can help you," said {friend}. "We can {solution}."',
                f'"Let us {solution}," said {friend}.',
                f'{friend} thought for a moment and said, "We could {solution}."',
            ]
        )
    )
    text.append(
        rng.choice(
            [
                f"And so they did, and on the other side {name} found {want}.",
                f"They did it together, and before the sun went down {name} found {want}.",
                f"It took all afternoon, but it worked, and there it was: {want}.",
            ]
        )
    )
    text.append(
        rng.choice(
            [
                f"{name} was {rng.choice(FEELINGS)} and thanked {friend}.",
                f"{name} gave {friend} a big hug and was {rng.choice(FEELINGS)}.",
                f'"Thank you, {friend}!" said {name}, {rng.choice(FEELINGS)}.',
            ]
        )
    )
    text.append(f"From that day on {name} {end}.")
    if rng.random() < 0.5:
        text.append(rng.choice(LESSONS))
    return " ".join(text)


ASK = [
    "Tell me a story.",
    "Tell me a story about {a} {kind}.",
    "Write a short story about {a} {kind} named {name}.",
    "I want a story about {a} {kind} called {name}.",
    "Tell a story about {name} the {kind}.",
    "Please tell me a story with {a} {kind}.",
    "A story about {name}, {a} {kind}, please.",
    "Can you tell me a bedtime story?",
    "Make up a story about {a} {kind} who wants {want}.",
    "Story time! Something with {a} {kind}.",
    "Tell me a story about {a} {kind} who wants {want}.",
]


def requested(rng):
    """A request and the story that keeps to it."""
    kind, name, want = rng.choice(ANIMALS), rng.choice(NAMES), rng.choice(list(WANTS))
    ask = rng.choice(ASK)
    text = story(
        rng,
        kind if "{kind}" in ask else None,
        name if "{name}" in ask else None,
        want if "{want}" in ask else None,
    )
    return ask.format(a=_article(kind), kind=kind, name=name, want=want), text
