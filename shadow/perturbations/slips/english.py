"""Slips in English."""

from __future__ import annotations

from typing import Final

from evenkeel.shadow.perturbations.slips.keyboards import QWERTY
from evenkeel.shadow.perturbations.slips.tables import Slips, pairs, words

_MISSPELLED: Final = pairs("""
accommodate accomodate, account acount, achieve acheive, across accross, address adress, again agian
apparently apparantly, argument arguement, because becuase, before befor, beginning begining
believe beleive, business buisness, calendar calender, changing changeing, coming comming
committed commited, completely completly, correct corect, customer custumer, definitely definately
describe discribe, different diffrent, environment enviroment, error eror, every evry, example exemple
existence existance, experience experiance, explain explian, finally finaly, friend freind
government goverment, grammar grammer, guarantee garantee, happened happend, immediately immediatly
independent independant, information infomation, interesting intresting, knowledge knowlege
language langauge, library libary, maintenance maintainance, message mesage, necessary neccessary
noticeable noticable, occurred occured, password pasword, people poeple, possible posible
preferred prefered, probably probaly, problem probelm, really realy, receive recieve, received recieved
recommend recomend, relevant relevent, request reqest, response responce, schedule shedule
separate seperate, should shoud, similar similiar, successful succesful, summarise sumarise
summarize sumarize, support suport, surprise suprise, system sytem, their thier, through thruogh
tomorrow tommorow, unfortunately unfortunatly, until untill, usually usualy, weird wierd, where wher
which wich, without withuot, writing writting
""")

_FREQUENT: Final = words("""
able act add ago aid aim air all also and any are area arm art ask ate away back bad bag ban band bank bar
barely barley bars base based bat bead beak bear bears beats bed been begin begun being bend best bet big
bill bird bit bits bitter blind blond boast boat body bold bond book boot bore born both bow box boy bread
break bring broad brown built bull bun bus but butter buy caching cafe call calm came can cap car card
care cars cart case cases cash cast casual cat cats causal cause chat check chip choose chop chose cites
clam clean clear climb clod close cloud coal coat cob cod cold come compete contact contest context cook
cool cop copy core corn cost costal costs could count counts county cover covered coveted crash crate cup
cut dad dairy data date day dead deal dear debt deer deny derail desert desk dessert detail dial diary
dicing did die died dies diet dig diner dinner dipping divided diving does dog don done door dose down
draw drew dripping drop dropping dual due each ear earn ears ease eases east easy eat eats edge egg else
end even ever exit eye face faces fact fades fail fair fall far farm fast fat fear fee feed feel fees feet
fell felt few field fiend fight fights file filed files filing fill film find finds fine fire firm fish
fit five fix flat flies floods floors flow fly fond font food foods fool foot for force form forth found
four free friend from fuel full fun fund funds gain galley game gap gas gave gay get girl give glad goal
goat god goes gold gone good got grater grow had hair half hand hang hard harm has hat hate have head
heading hear hearing heat heating held hell help her herd here hero hide high hill him hint hire his hit
hold hole home hope hoping hopping hose hot hour house how huge hunger hunt hunter hurt ice idea inch info
injures into iron item its job join jump just keep kept key kid kill kind king knew know lack lad lady
laid lake land lane large last late later latter law lay lead leaf lean least leave led left leg less let
lie lies life lift like liked liking line lined liner link list live load loan log lone long look loose
looser lord lose loser loss lost lot loud love low luck lunch lying made mail main make makes male man
many map march marital mark martial mass mat match mate mater math matter may meal mean meat meet men
mental met metal mid min mind mine minor miss mix mode model money month moon moral more morning mortal
most mouth move much must name near neat neck need net new news next nice night nine nobel node none noon
nor north nose not note now nut odd off oil old once one only open other our out outage over own pace pack
padding page paid pain pair pale pan pants paring park part party pass past patent path paws pay pays peak
pear pen per perfect pet phone pick pie piece pile pill pin pint pipe place plain plan plane planed
planing planned planning plans plate play pleaded pleased plot plus poet point pole poll pool poor poplar
port posing post pot pots pour pray prefect press price print prize processor professor proof prove pubic
public pull pure push put quick quiet quit quite race raided rain raise raised rally ran rare rate rater
rates raw read real realty rear red reels regain rely rest retain revere ribs rice rich rid ride rides
riding rig right ring riot rise rises rising risk river road robbed robed rock role roll roof room root
rope rose round row rubs rule run runs rush sacks sacred sad safe said sail sale salt same sand sat save
saved saw say scare scared scarred scored scraped scrapped sea seat see seed seeds seek seem seen sees
sell selling send sense sent set sets sever severe sex shade share she shed shied shifts ship shirts shoe
shoot shop shore short shorts shot should show shown shut shy sick side sides sign signing signs silver
sin sing singe singing sings sit site sits sitting six size skin sky slave sleep slices slicing slides
sliding slip sliver sloop slop slow small snow soap soft soil sold some son song soon sore sort soul sour
south space speak speed spend spot staff stage staged stair stare staring starring start state stated
stating statue stay steal steam steel step stick still stock stone stop store storm story strange stranger
string striped stripped strong stronger stuck such sued suffers suit sum sun super supper sure swing swung
table take taking tale talk tall tan tank tape tapping task tax tea team tear tech tell ten term terms
test tests text texts than thank that the them then there these they thin thing think this those though
thought threat three through throw thus tide tie tied ties time tin tinny tiny tip tire tired toe told
toll ton tone too took tool top tore torn tough tour toward town toy traced track trade traded trail tree
trial trick tried trip truck true trust try tune turn twice two type unit united untied upon use used user
uses van vary vast very via view visas visit voice vote votes wage wait wake waking walk walks wall walls
want war ward warm warn was wash waste watch water wave way weak wear web week weighs well went were west
wet what wheat when where which while white who whole whom whose why wide wife wild will win wind wine
wing wining winning wins wire wise wish with won wood wool word words wore work world worn worse wound
wrap write wrote yard year yes yet you your zero
""")

ENGLISH: Final = Slips(QWERTY, _MISSPELLED, _FREQUENT)
"""English, and what is used where the language is not known."""
