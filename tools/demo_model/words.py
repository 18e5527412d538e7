"""Word lists of the demo model's corpus: everyday English, written for it."""

ANIMALS = """fox bear mouse rabbit owl frog duck cat dog hen goat sheep pig cow horse donkey
squirrel hedgehog badger
otter beaver mole turtle snail bee ant spider crow swan goose turkey wolf lion tiger monkey
elephant giraffe zebra camel
penguin seal whale dolphin shark crab fish deer moose bat lizard snake parrot robin sparrow pigeon
eagle""".split()

NAMES = """Ada Ben Clara Dan Eva Finn Gina Hugo Iris Jack Kate Leo Mia Nora Otto Pia Rosa Sam Tess
Uma Vera Will Zoe Abel
Bella Carl Dora Emil Fay Greta Hal Ida Jonas Kira Lars Mona Ned Olga Paul Quinn Ruth Simon Tina
Viktor Wanda Yara Anton
Britta Cyril Della Edgar Flora Gus Hanna Igor Jill Karl Lena Max Nell Oscar Petra Ralf Sally Theo
Ursula""".split()

COLOURS = "red blue green yellow orange purple brown black white pink grey gold silver".split()

PLACES = """forest garden river hill village farm meadow lake beach mountain barn kitchen school
library market park
castle island cave valley harbour bridge mill tower cottage orchard field pond road
station""".split()

THINGS = """ball kite lamp book hat boat drum bell key map box cup spoon chair table clock coat
shoe sock bag rope basket
bucket candle mirror pillow blanket ladder hammer nail brush comb ring button ribbon feather shell
stone leaf stick cake
apple pear plum peach lemon melon carrot potato onion pumpkin bread cheese honey jam nut berry
cookie pie soup egg flower
flute violin whistle wagon sled ship train bicycle tent flag coin letter pencil paper scarf glove
umbrella bottle plate
fork knife broom rug window door wheel engine""".split()

FOODS = """apple pear plum peach lemon melon carrot potato onion bread cheese honey jam cake cookie
pie soup egg""".split()

ADJECTIVES = """big small old young tall short long round flat heavy light warm cold hot cool soft
hard fast slow loud
quiet bright dark clean dirty dry wet rich poor brave shy kind clever happy sad angry tired hungry
lonely proud gentle
funny curious patient careful lazy strong weak sweet sour bitter fresh shiny wooden broken empty
full new tiny huge
narrow wide deep simple strange lucky busy calm""".split()

VERBS = """run walk jump swim fly sing dance read write draw paint build cook bake eat drink sleep
wake laugh cry smile
talk listen look watch find lose hide seek carry push pull throw catch climb dig plant grow cut
mend wash dry open close
give take bring send buy sell help teach learn count share wait travel visit explore repair rest
play""".split()

# Words for tasks that copy, turn round, spell and count: as many kinds of letters and lengths as
# can be.
OTHER_WORDS = """able about above acid across actor after again agent alarm album almond alpha
amber anchor angle ankle
answer anvil apron arch arctic arena armour arrow artist atlas attic august autumn avenue axle
bacon badge bagel bakery
balcony balloon bamboo banana banner barrel basin battle beacon beard beaver bedroom behind belief
bench beyond bishop
blade blend blossom board bonus border borrow bottom boulder branch brass breeze brick bronze
bubble budget buffalo
bundle burger butter cabin cable cactus camera canal canoe canvas canyon captain carbon career
cargo carpet castor
cattle cedar cellar cement centre chalk chance chapter cherry chess chimney circle circus citrus
clay clever cliff
climate cloth cloud clover coast cobalt coffee collar comet common copper coral corner cotton couch
county cousin cradle
crane crater crayon cream credit cricket crown crystal cube curtain custom daisy danger dawn decade
degree delta denim
desert design diamond diary dinner doctor dollar domain double dragon drawer dream drift driver
dust dwarf early earth
echo effort eight elbow elder elm emblem empire energy enough entry equal error escape estate ether
event exam exit
fabric factor falcon family famous farmer father fence fern fever fiddle figure filter final finger
flame flavour fleet
flint float flour fluid focus forest formal fossil fountain frame freight fridge frost fruit funnel
future gadget galaxy
gallon gamma garlic gate gather gear ghost giant ginger glacier glass globe glory granite grape
grass gravel guard guest
guide guitar hall hamlet handle hazel heart helmet herb hinge history hobby hockey holiday honest
hood horizon hotel
hour human humour hunter ice igloo image inch index ink insect island ivory jacket jaguar jar jazz
jelly jewel journal
journey judge juice jungle junior kayak kernel kettle kidney kingdom kitten knot lace lagoon
lantern laser lawn leader
leather lecture legend lemonade lentil level lever lilac linen liquid litre local locket lodge
logic lotus lumber lunch
lunar magnet major mango mantle maple marble margin marine marsh mask master meadow measure medal
melody memory mental
mercy metal meteor method middle mineral minor mint minute mirror model modern moment monk month
moral morning motor
muffin muscle museum music napkin nation native nature nectar needle nerve nest nickel night noble
noise noodle normal
north notion novel number oasis oat object ocean olive onyx opal opera option orbit orchid organ
origin ounce outer oven
owner oxygen oyster pace packet paddle palace panel panther papaya parade parcel parent pasta patch
path pattern peanut
pearl pebble pedal pepper perfume period person petal phone photo piano picnic picture pigment
pilot pine pirate pistol
pixel planet plastic plaza pocket poem polar police polish pond pony portal poster powder prairie
present prince print
prism profit public pulse pupil puppet purse puzzle pyramid quartz queen quest quick quilt rabbit
radar radio raft rain
raven razor reason record reef region remedy report result ribbon rice ridge rifle ritual rival
rocket roof root rose
royal rubber ruby rule saddle safari salad salmon salt sample sand sauce scale scene scholar
science scout screen sculptor
season second secret senior shade shadow shape shark shelf shelter sheriff shield shirt shore
shrimp signal silk single
siren sketch skill sky slate sleeve slice smoke snack snow soap soccer social soda soil solar
soldier sonnet spark spice
spiral spirit sponge spring square stable stadium stage stamp statue steam steel stem stereo stitch
storm story stove
street string studio sugar summer summit sun surface sushi swamp symbol syrup system tailor talent
tango target tavern
temple tennis theory thimble thorn thread throne thumb thunder ticket timber title toast tomato
topaz torch total
tractor trade trail treasure triangle tribe trophy truck trumpet tulip tunnel turnip tutor twelve
twist uncle union
unit upper urban valid value vanilla vapour vault velvet vendor verse vessel victory video village
vinegar vision
vocal volcano voyage waffle wagon wallet walnut warrior water wave weather wedding weekend wheat
whisper widow willow
winner winter wizard wonder worker world yacht yard year yellow yogurt zero zigzag zinc
zone""".split()

# Keys of records and names of parameters.
KEYS = """name age city colour price size weight height owner country street email phone title
author year month day
hour date time length width depth speed level score rank rating status type kind model brand
material shape flavour
quantity amount total count number code label topic subject language animal food drink sport hobby
job team school
company department room floor building seat gate platform flight train hotel region station river
species breed
population area temperature pressure distance duration volume power voltage capacity category
priority sender receiver
origin destination budget cost discount tax balance account currency unit version format source
target genre artist
album editor publisher pages chapter season episode director actor channel""".split()

ALL_WORDS = sorted(
    set(ANIMALS + COLOURS + PLACES + THINGS + ADJECTIVES + VERBS + OTHER_WORDS + KEYS)
)

# Kept from the lists that the word tasks, records and tools draw from, for tests to use. The
# tokenizer gives them no ids of their own: an unseen word is one that is seen letter by letter. A
# few are animals or things of other lists, and made-up words hit a short one now and then.
TEST_WORDS = """above amber axle badge bagel barrel basin beach border boulder cactus calm
camel canoe carbon cement chance chess clay clock county cube diamond domain effort elbow
elm flat fly funnel gamma glass glove granite grass guide guitar hamlet herb hood ink insect
kernel knot lantern laugh leather lotus lucky lunar lunch magnet melody mental mill mole
monk noble nut oasis ocean option ounce paddle palace panther pedal pocket polish poster
prairie profit queen quest reason rest run salad salt sauce science sell senior sketch smile
spirit statue stem surface symbol tango theory tiger timber tired toast trade turkey
umbrella vault waffle wake watch zebra zone""".split()
