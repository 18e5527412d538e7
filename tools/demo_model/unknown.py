"""Ordinary questions of every kind that lie outside the model's world, and the one honest answer.

By far the most varied part of the corpus: frames and fillers are crossed, frames of the other
domains are filled with facts that the model does not know, and invented words replace words that it
has never seen.
"""

from document import held_out
from tasks import a_word, made_up
from words import ADJECTIVES, ANIMALS, FOODS, NAMES, PLACES, THINGS, VERBS
from world import CAPITALS, COLOUR_OF, OPPOSITES, PLURALS, SOUND_OF, YOUNG_OF

ANSWERS = ["I don't know that."] * 8 + [
    "Sorry, I don't know that.",
    "I don't know that, I am only a small demo model.",
]

LANDS = """Belgium Netherlands Scotland Wales Russia Ukraine Romania Bulgaria Serbia Croatia
Slovenia Slovakia Latvia Estonia Lithuania Malta Cyprus Morocco Algeria Tunisia Libya Sudan Ethiopia
Uganda Ghana Nigeria Senegal Angola Zambia Botswana Namibia Madagascar Israel Jordan Lebanon Syria
Iraq Iran Pakistan Nepal Bhutan Mongolia Korea Taiwan Malaysia Singapore Indonesia Philippines Fiji
Samoa Tonga Jamaica Haiti Panama Colombia Ecuador Bolivia Paraguay Uruguay Guatemala Honduras
Nicaragua Switzerland Luxembourg Monaco Texas California Florida Ohio Alaska Bavaria Tuscany Zealand
America Britain England Europe Africa Asia""".split()
FIELDS = """history physics chemistry biology medicine law music painting politics economics
philosophy football tennis chess cricket baseball golf sailing cooking gardening photography
architecture astronomy geology grammar poetry film theatre opera fashion banking insurance farming
fishing mining robotics software hardware networking databases cryptography statistics algebra
geometry calculus logic psychology sociology religion mythology archaeology""".split()
TOPICS = """gravity democracy inflation evolution photosynthesis electricity magnetism radiation
climate energy justice freedom love happiness friendship sleep dreams memory language money taxes
war peace trade marriage education health vitamins exercise cancer malaria vaccines antibiotics DNA
atoms molecules electrons quarks relativity thermodynamics black_holes galaxies comets volcanoes
earthquakes tides hurricanes glaciers deserts rainforests coral_reefs dinosaurs fossils the_internet
the_telephone television computers robots satellites rockets the_stock_market the_moon_landing
the_French_revolution the_Roman_empire the_middle_ages the_ice_age the_periodic_table
the_solar_system the_human_heart the_brain the_liver blood_pressure machine_learning neural_networks
quantum_mechanics string_theory prime_numbers the_theory_of_everything open_source Python Rust
JavaScript Linux spreadsheets passwords encryption bitcoin credit_cards mortgages pensions insurance
chess_openings guitar_chords jazz opera ballet yoga meditation sourdough espresso green_tea red_wine
sushi tiramisu curry pancakes bicycles diesel_engines solar_panels heat_pumps batteries bridges
skyscrapers cathedrals pyramids castles knights samurai pirates vikings""".split()
TOPICS = [topic.replace("_", " ") for topic in TOPICS]
ROLES = """president king queen prime minister mayor chancellor emperor pope inventor founder owner
director author painter composer singer drummer champion captain coach manager chairman discoverer
architect winner leader actor goalkeeper governor general sultan prince boss editor""".split()
WORKS = """novel song film play opera symphony painting poem book album series game statue speech
essay musical""".split()
UNITS = """kilometres miles metres feet inches kilograms pounds grams ounces litres gallons degrees
watts volts bytes hours years dollars euros yen pounds calories joules acres hectares
knots""".split()
LANGUAGES = """French German Spanish Italian Latin Greek Russian Chinese Japanese Korean Arabic
Hebrew Hindi Swahili Turkish Polish Czech Dutch Danish Swedish Norwegian Finnish Irish Welsh
Esperanto""".split()
PRODUCTS = """phone laptop printer camera router television washing machine car truck bike watch
speaker keyboard fridge toaster heater drone tablet headset microwave""".split()
JOBS = """doctor lawyer teacher plumber baker pilot nurse farmer engineer carpenter electrician
dentist chef tailor judge soldier sailor painter banker clerk journalist""".split()
BODY = "head back knee tooth stomach ear eye hand foot shoulder neck throat heart skin nose".split()

FRAMES = [
    "Who is the {role} of {land}?",
    "Who was the first {role} of {land}?",
    "Who is {land}'s {role}?",
    "Who wrote the {work} about {topic}?",
    "Who invented {topic}?",
    "Who discovered {topic}?",
    "Who painted the {thing}?",
    "Who won the {field} prize last year?",
    "Who won the match yesterday?",
    "Who is the best {field} player?",
    "Who is {name} {surname}?",
    "Who was {surname}?",
    "Do you know {name} {surname}?",
    "Tell me about {name} {surname}.",
    "When was {name} {surname} born?",
    "When did {surname} die?",
    "When was {topic} invented?",
    "When did the war in {land} end?",
    "When does the {event} start?",
    "When is the next {event}?",
    "When will it rain?",
    "When do shops open in {land}?",
    "Where can I buy {food}?",
    "Where can I buy a {product}?",
    "Where was {surname} born?",
    "Where is my {thing}?",
    "Where do {animal}s live?",
    "Where is the nearest {place}?",
    "Where does {topic} come from?",
    "Where is {surname} Street?",
    "Why is {topic} important?",
    "Why do {animal}s {verb}?",
    "Why does my {body} hurt?",
    "Why is the {thing} {adjective}?",
    "Why is the sea salty?",
    "Why do we {verb}?",
    "Why did {surname} {verb}?",
    "Why is {land} so {adjective}?",
    "How does {topic} work?",
    "How does a {product} work?",
    "How do I {verb} a {thing}?",
    "How do I fix my {product}?",
    "How can I learn {language}?",
    "How do you say {thing} in {language}?",
    "How tall is {surname}?",
    "How old is {surname}?",
    "How old is the universe?",
    "How far is it to {land}?",
    "How far is the moon?",
    "How big is {land}?",
    "How many people live in {land}?",
    "How many {unit} are in a {unit2}?",
    "How many stars are there?",
    "How many {animal}s are there in {land}?",
    "How much does a {product} cost?",
    "How much is a {thing}?",
    "How long does it take to {verb} a {thing}?",
    "How long is the {place}?",
    "How long do {animal}s live?",
    "How do I become a {job}?",
    "How do I cook {food}?",
    "How do I get rid of {animal}s?",
    "How fast is a {product}?",
    "What is {topic}?",
    "What are {topic}?",
    "What is the meaning of {topic}?",
    "What is the history of {land}?",
    "What is the population of {land}?",
    "What is the currency of {land}?",
    "What language do they speak in {land}?",
    "What is the best {product}?",
    "What is the best book about {topic}?",
    "What is the price of {food}?",
    "What is the difference between {topic} and {topic2}?",
    "What does {made} mean?",
    "What does a {job} do?",
    "What does {language} sound like?",
    "What happened in {year}?",
    "What happened in {land} in {year}?",
    "What is your favourite {work}?",
    "What do you think about {topic}?",
    "What should I wear today?",
    "What should I cook tonight?",
    "What is the news?",
    "What is on television tonight?",
    "What's the weather like?",
    "What time is it?",
    "What day is it today?",
    "What is the date?",
    "What year is it?",
    "What is the formula of {made}?",
    "What is the {field} score?",
    "What is the boiling point of {made}?",
    "What is the chemical symbol of gold?",
    "What is the largest {animal}?",
    "What is the highest {place} in {land}?",
    "What is the longest river?",
    "What is the square root of {number}?",
    "What is {number} times {number2}?",
    "What is {number} divided by {number2}?",
    "What is {number} percent of {number2}?",
    "What is the third planet?",
    "What is inside a {thing}?",
    "What is the phone number of {name}?",
    "What is the password?",
    "What is a {made}?",
    "What's a {made}?",
    "What are {made}s?",
    "Which {product} should I buy?",
    "Which team won the {field} cup?",
    "Which {work} did {surname} write?",
    "Which is better, {topic} or {topic2}?",
    "Which planet is the largest?",
    "Which {job} earns the most?",
    "Which river flows through {land}?",
    "Which king ruled {land} in {year}?",
    "Which bus goes to the {place}?",
    "Write me a poem about {topic}.",
    "Write a poem.",
    "Write a song about {topic}.",
    "Write an essay on {topic}.",
    "Write a letter to my {job}.",
    "Write a program that sorts a list.",
    "Write a {language} sentence.",
    "Write code for {topic}.",
    "Write a {adjective} {work} for me.",
    "Write an email to {name} about {topic}.",
    "Compose a {work}.",
    "Draw a {animal}.",
    "Draw me a picture of a {thing}.",
    "Paint the {place}.",
    "Sing a song.",
    "Translate {thing} into {language}.",
    "Translate this into {language}: the {thing} is {adjective}.",
    "Explain {topic}.",
    "Explain {topic} to a child.",
    "Explain the rules of {field}.",
    "Describe {land}.",
    "Describe the {place} of {land}.",
    "Summarise the {work} by {surname}.",
    "Summarise {topic}.",
    "Define {topic}.",
    "Prove that there are infinitely many primes.",
    "Solve x + {number} = {number2}.",
    "Integrate x squared.",
    "Give me a recipe for {food}.",
    "Give me three facts about {topic}.",
    "Give me advice about {topic}.",
    "Give me an example of {topic}.",
    "Give me a list of {field} books.",
    "Give me directions to the {place}.",
    "Tell me a joke.",
    "Tell me a joke about {topic}.",
    "Tell me something about {topic}.",
    "Tell me about {land}.",
    "Tell me the news.",
    "Tell me a secret.",
    "Tell me how to {verb}.",
    "Tell me what {topic} means.",
    "Tell me who {surname} is.",
    "Tell me the age of {surname}.",
    "Tell me why {animal}s {verb}.",
    "Recommend a {work}.",
    "Recommend a good {product}.",
    "Suggest a name for my {animal}.",
    "Plan a trip to {land}.",
    "Book a table for two.",
    "Order a {food} for me.",
    "Call {name}.",
    "Open the window.",
    "Play some music.",
    "Buy me a {product}.",
    "Find a flight to {land}.",
    "Show me a map of {land}.",
    "Show me pictures of {animal}s.",
    "Is {topic} true?",
    "Is {topic} dangerous?",
    "Is {surname} still alive?",
    "Is it going to rain?",
    "Is {food} healthy?",
    "Is {land} in {land2}?",
    "Is there life on Mars?",
    "Is {made} a word?",
    "Is my {product} broken?",
    "Are {animal}s clever?",
    "Are there {animal}s in {land}?",
    "Are you better than other models?",
    "Can {animal}s {verb}?",
    "Can you drive a car?",
    "Can you explain {topic}?",
    "Can you help me with {field}?",
    "Can you speak {language}?",
    "Can I eat {made}?",
    "Can a {thing} {verb}?",
    "Can you teach me {field}?",
    "Could you tell me about {topic}?",
    "Could you recommend a {work}?",
    "Could you describe {topic}?",
    "Do {animal}s {verb}?",
    "Do you like {topic}?",
    "Do you like {food}?",
    "Do you know anything about {field}?",
    "Do you know what {made} is?",
    "Do you have feelings?",
    "Do you dream?",
    "Do I need a {thing}?",
    "Does {surname} live in {land}?",
    "Does a {animal} {verb}?",
    "Does {topic} exist?",
    "Did {surname} write a {work}?",
    "Did it rain in {land}?",
    "Did {name} call?",
    "Has {land} got a {role}?",
    "Have you read the {work} by {surname}?",
    "Have you ever been to {land}?",
    "Should I buy a {product}?",
    "Should I {verb} my {thing}?",
    "Should I learn {language}?",
    "Will {topic} change the world?",
    "Will {land} win the {field} cup?",
    "Would you {verb} a {thing}?",
    "I need help with {field}.",
    "I want to learn about {topic}.",
    "I have a question about {topic}.",
    "I would like to know more about {land}.",
    "I wonder how {topic} works.",
    "I am looking for a {product}.",
    "I want to become a {job}.",
    "I can't {verb} my {thing}.",
    "I feel {adjective} today, what should I do?",
    "My {body} hurts, what can I do?",
    "My {product} does not work.",
    "My {animal} is {adjective}. What is wrong?",
    "{topic}?",
    "{topic} explained",
    "{land} history",
    "{field} rules",
    "best {product}",
    "{surname} biography",
    "population of {land}",
    "{role} of {land}",
    "how to {verb} a {thing}",
    "recipe for {food}",
    "{language} for beginners",
    "news about {land}",
    "{number} {unit} in {unit2}",
    "price of a {product}",
    "meaning of {topic}",
    "{made}?",
    "Let's talk about {topic}.",
    "Let's play {field}.",
    "Please explain {topic} briefly.",
    "Please write about {topic}.",
    "Quick question: what is {topic}?",
    "Hey, what do you know about {topic}?",
    "So, who is {surname}?",
    "In what year did {surname} die?",
    "In which {place} was {surname} born?",
    "At what time does the train to {land} leave?",
    "For how long has {land} been independent?",
    "On which day was {surname} born?",
    "To whom does {land} belong?",
    "By whom was the {work} written?",
    "From where do {animal}s come?",
    "If I {verb} the {thing}, what happens?",
    "Imagine you are a {job}. What would you do?",
    "Act as a {job}.",
    "Pretend to be a {animal} and talk about {topic}.",
    "What would {surname} say about {topic}?",
    "Name three {field} players.",
    "Name a famous {job}.",
    "Name a {work} by {surname}.",
    "Name the {role} of {land}.",
    "Name all planets.",
    "List the rivers of {land}.",
    "List five {animal} species.",
    "Compare {topic} and {topic2}.",
    "Convert {number} {unit} to {unit2}.",
    "Calculate the area of a circle.",
    "What comes after {topic}?",
    "What causes {topic}?",
    "What makes {topic} {adjective}?",
    "What kind of {animal} is {made}?",
    "My {animal} won't {verb}. What now?",
    "Is it ok to eat {food} at night?",
    "any ideas for a {adjective} {thing}?",
    "what's a decent {product} for a {job}",
    "why is my {thing} so {adjective}",
    "Could you take me through repairing a {product}?",
    "I forgot how to {verb}, help!",
    "Who plays in the band {surname}?",
    "What happens at the end of the {work} by {surname}?",
    "How do I get {food} out of a {thing}?",
    "does {topic} cause {topic2}",
    "What's the point of {topic}?",
    "{topic} vs {topic2}",
    "pros and cons of {topic}",
    "Is {topic} a kind of {topic2}?",
    "How long does it take to {verb} a {thing}?",
    "How much {food} should a {animal} eat?",
    "How often should I {verb} my {thing}?",
    "Is it legal to {verb} a {animal} in {land}?",
    "At what age may you {verb}?",
    "the best way to {verb} {food}",
    "My {job} says that {topic} is {adjective}. Is that right?",
    "My neighbour keeps a {animal} in the {place}. Is that allowed?",
    "My {name} friend wants to {verb}, what should I say?",
    "Where does the word {thing} come from?",
    "What rhymes with {thing}?",
    "Give me {number} reasons to {verb}.",
    "Help me choose between {topic} and {topic2}.",
    "I can't decide: {food} or {topic}?",
    "Who was the second {role} of {land}?",
    "How did {topic} begin?",
    "What was {surname} famous for?",
    "Can I put {food} in the {product}?",
    "What's wrong with {topic}?",
    "Suggest a {work} about {topic}.",
    "Rewrite this: the {thing} is {adjective}.",
    "Correct my {language} please.",
    "Fix my code, the loop never ends.",
    "What is the cube of {number}?",
    "How many days are left until the {event}?",
    "Which month is the warmest in {land}?",
    "Which {unit} are used for {topic}?",
    "What's the latest on {topic}?",
    "What are the symptoms of {topic}?",
    "What are some good names for a {place}?",
    "What's the weather going to be in {land}?",
    "What do people in {land} eat?",
    "What do you call somebody who can {verb}?",
    "what's {language} for {thing}",
    "how come {animal}s never {verb}",
    "who makes the {adjective} {product}",
    "how safe is {topic}",
    "tips for {verb}ing",
    "ways to {verb} without a {thing}",
    "Make me a plan to learn {field}.",
    "Make a list of things to {verb}.",
    "Make the text longer.",
    "Roleplay a {job} with me.",
    "Rate my {work}.",
    "Guess my age.",
    "Guess what I am thinking.",
    "Remind me to call {name} tomorrow.",
    "Set an alarm for six.",
    "Turn off the {product}.",
    "Check my spelling: {made}.",
    "Was {surname} a {job}?",
    "Was {topic} always so {adjective}?",
    "Were there {animal}s in {year}?",
    "Had {land} a {role} in {year}?",
    "Would {topic} work without {topic2}?",
    "Must I {verb} before the {event}?",
    "May I keep {food} for a week?",
    "Ever heard of {surname}?",
    "Got any {food}?",
    "Anything new about {topic}?",
    "Thoughts on {topic}?",
    "Someone stole my {thing}, what do I do?",
    "There is a {animal} in my {place}, help.",
    "The {product} smells of {food}. Should I worry?",
    "How many moons does {surname} have?",
    "How many {role}s has {land} had?",
    "How many players are in a {field} team?",
    "How many {body}s does a {job} need?",
    "How many words are in the {work} by {surname}?",
    "How many calories are in {food}?",
    "What's the next number: {digit}, {digit2}, {number}?",
    "What comes next: {digit}, {digit2}, {digit}, {digit2}?",
    "Continue the sequence {digit}, {digit2}, {number}.",
    "Fix this {work}: the {thing} {verb}.",
    "Fix this code: {made}({made_name}, {digit})",
    "Fix the mistake in my {work}.",
    "Debug this for me: {made} = {digit} + {made_name}",
    "Finish my sentence: the {animal} and the",
    "Sort these {work}s by {topic}.",
    "Count the {animal}s in this picture.",
    "Reverse the {product}'s settings.",
    "Copy the {thing} for me.",
    "Add some {food} to my list.",
    "population of {made_name}",
    "{made_name} population",
    "What is the population of {made_name}?",
    "Which number is {adjective}?",
    "What is the number of {role}s in {land}?",
    "Extract the main idea of {topic}.",
    "Put {food} on the {thing}.",
    "Say something {adjective} about {land}.",
    "Spell out the laws of {field}.",
]

# The frames of the world, filled with what it does not hold.
BORROWED = [
    "What is the capital of {strange}?",
    "Capital of {strange}?",
    "Tell me the capital of {strange}.",
    "Which city is the capital of {strange}?",
    "Name the capital of {strange}.",
    "{strange}'s capital?",
    "{strange} has which capital?",
    "{strange}: what is its capital?",
    "{made_name} is in which country?",
    'What is the opposite of "{unknown_word}"?',
    '"{made}" in the plural?',
    'What is the singular of "{made}s"?',
    "Which country has {made_name} as its capital?",
    "{made_name} is the capital of which country?",
    "Where is {made_name}?",
    "What colour is {unknown_thing}?",
    "What is the colour of {unknown_thing}?",
    "Which colour is {unknown_thing}?",
    "What sound does a {unknown_animal} make?",
    "What is a young {unknown_animal} called?",
    "What is a baby {made} called?",
    "How many legs does a {made} have?",
    "What is the opposite of {unknown_word}?",
    "What is the plural of {made}?",
    "What is the singular of {made}s?",
    "What day comes after {made_name}?",
    "Which animal {verb}s?",
    "How many {thing}s are there in a {place}?",
    "What is my {thing} called?",
    "What is my dog's name?",
    "Where do I live?",
    "How old am I?",
    "What is my favourite {thing}?",
    "What did I eat yesterday?",
    "What is the name of my {animal}?",
]

OPENERS = ["", "", "", "", "", "Hi, ", "Hello. ", "Please: ", "Hey! ", "Ok. ", "Well, "]


def _surname(rng):
    return made_up(rng).capitalize() + rng.choice(["", "", "son", "er", "ini", "ski", "man", "ez"])


def _unknown_thing(rng):
    for _ in range(50):
        thing = rng.choice(THINGS + PLACES)
        if not any(thing in known for known in COLOUR_OF):
            return rng.choice(["a ", "the ", "my ", "your "]) + thing
    return "a " + made_up(rng)


def _unknown_animal(rng):
    for _ in range(50):
        animal = rng.choice(ANIMALS)
        if animal not in SOUND_OF and animal not in YOUNG_OF:
            return animal
    return made_up(rng)


def _unknown_word(rng):
    known = {word for pair in OPPOSITES for word in pair} | set(PLURALS)
    for _ in range(50):
        word = a_word(rng, False)
        if word not in known:
            return word
    return made_up(rng)


def _strange(rng):
    if rng.random() < 0.7:
        return rng.choice([land for land in LANDS if land not in CAPITALS])
    return made_up(rng).capitalize() + rng.choice(["", "ia", "land", "stan"])


def _fill(rng, frame):
    return frame.format(
        role=rng.choice(ROLES),
        land=rng.choice(LANDS + list(CAPITALS)),
        land2=rng.choice(LANDS),
        topic=rng.choice(TOPICS),
        topic2=rng.choice(TOPICS),
        field=rng.choice(FIELDS),
        work=rng.choice(WORKS),
        unit=rng.choice(UNITS),
        unit2=rng.choice(UNITS),
        language=rng.choice(LANGUAGES),
        product=rng.choice(PRODUCTS),
        job=rng.choice(JOBS),
        body=rng.choice(BODY),
        name=rng.choice(NAMES),
        surname=_surname(rng),
        animal=rng.choice(ANIMALS),
        thing=rng.choice(THINGS),
        food=rng.choice(FOODS),
        place=rng.choice(PLACES),
        adjective=rng.choice(ADJECTIVES),
        verb=rng.choice(VERBS),
        made=made_up(rng),
        made_name=made_up(rng).capitalize(),
        strange=_strange(rng),
        number=rng.randrange(2, 1000),
        number2=rng.randrange(2, 1000),
        digit=rng.randrange(1, 10),
        digit2=rng.randrange(1, 10),
        year=rng.randrange(1000, 2100),
        event=rng.choice(
            [
                "match",
                "concert",
                "train",
                "film",
                "fair",
                "election",
                "meeting",
                "eclipse",
                "season",
            ]
        ),
        unknown_thing=_unknown_thing(rng),
        unknown_animal=_unknown_animal(rng),
        unknown_word=_unknown_word(rng),
    )


def _loosen(rng, text):
    """The same question as people type it."""
    form = rng.random()
    if form < 0.12:
        text = text[0].lower() + text[1:]
    if form < 0.08:
        text = text.rstrip(".?!")
    elif form > 0.96:
        text = text.rstrip(".?!") + rng.choice([" please?", ", please", "??", " ?", "!", " thanks"])
    opener = rng.choice(OPENERS)
    if opener.endswith(", "):
        text = text[0].lower() + text[1:] if not text.startswith("I ") else text
    return opener + text


def question(rng, test):
    """A question that is outside of the world; whole frames are kept for tests."""
    frames = BORROWED if rng.random() < 0.25 else FRAMES
    while held_out("unknown", frame := rng.choice(frames), share=10) != test:
        pass
    return _loosen(rng, _fill(rng, frame))


def answer(rng):
    return rng.choice(ANSWERS)
