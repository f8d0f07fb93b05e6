/** The same as `SAYINGS`, for what charts, telephones, web pages, shops, places and others are asked for. */
export const MORE_SAYINGS = `
chart, generate, plot: visual, visualise, visualize, graphic, graphical, diagram, picture of the figures,
draw the numbers, graph of; chart, pie: proportion, percentage, parts of a whole, slice, breakdown, circle,
composition; chart, line, area: trend, time series, over time, progress, month after month, by month, by
date, evolution, growth; chart, bar, column: ranking, side by side, compare values, by category, highest and
lowest; chart, histogram, distribution: spread, frequency, how often, bins, buckets, range of values; chart,
scatter, correlation: relationship between, two variables, dots, dependence, goes together; chart, radar:
strengths and weaknesses, several dimensions, profile of skills, spider web; chart, funnel: conversion, drop
off, drop out, stages, step by step loss; chart, sankey, flow: where it goes, from where to where,
quantities, streams, sources and targets; chart, waterfall: gains and losses, increase, decrease, bridge,
cumulative, contributions; chart, treemap, hierarchical: share of space, nested boxes, sizes within; chart,
boxplot, violin: outliers, quartiles, median, spread, statistical; chart, gauge, liquid, progress: how full,
percent done, level, fill; diagram, venn: overlap, in common, intersection, sets; diagram, fishbone: causes,
root causes, why it happens, ishikawa; diagram, organization: hierarchy, who reports to whom, reporting
line, superior, boss, structure of the company, team structure; diagram, mind, map: brainstorm, ideas,
concept, topics, branches; diagram, network, graph: who knows whom, connections, edges, links between; word,
cloud, tag: most frequent words, buzzwords, big letters, term frequency; device, mobile, phone, android,
ios: handset, iphone, ipad, smartphone, tablet, cell, gadget; device, list, available: connected, attached,
plugged in, within reach; simulator, emulator, sim, device: virtual phone, virtual device, pretend iphone,
test phone; boot, start, launch, power: switch on, turn on, power up, fire up, wake; app, install, apk:
sideload, put on, deploy, get onto, set up; app, uninstall, remove: delete, erase, removal, get off, take
off, away, never want; app, terminate, stop, kill: quit, force close, swipe away, shut; app, foreground,
current, active: in front, open now, looking at, on screen, frontmost; screen, orientation, rotate:
landscape, portrait, sideways, on its side, turn, rotation, tilt; screen, size, resolution, viewport:
pixels, how large, dimension, width, height; screen, swipe, scroll, gesture: flick, slide, finger, drag,
pan; screen, tap, click, press: touch, push, hit, poke, double, long press; screen, record, video, start,
recording: film, capture, movie, screencast; screen, elements, ui, snapshot: what is visible, buttons,
widgets, accessibility tree, view hierarchy; location, gps, set, geolocation: position, coordinates, fake,
mock, spoof, simulate, pretend to be, make believe; clipboard, copy, paste: pasteboard, paste buffer,
copied, copy and paste; keyboard, keys, type, text: enter, write, key in, letters; crash, report, log: died,
dump, stack trace, closed by itself, fell over; orientation, brightness, volume, setting: louder, quieter,
darker, lighter; coverage, code, report: how much is tested, covered, untested, percentage tested; index,
indices, list: collections, full text store, search store, which data; mapping, field, schema, type:
structure, typed, columns, definition, data types, organised, layout; shard, replica, cluster, node: parts,
distribution, spread, copies; task, create, add: to do, todo, job, work item, chore, assignment, somebody
must, needs doing, piece of work, action item; task, list, my, assigned: on my plate, what do i have to do,
my work, my jobs, mine, assigned to me, own work; task, subtask, child: smaller piece, split, nested, below,
part of a job, sub item; task, dependencies, dependency, blocked: cannot begin before, prerequisite,
predecessor, successor, waits for, waiting on, depends, comes after, first needs; task, complete, status,
update: finished, done, ready, tick off, over; task, delete, remove: nonsense, erase, discard, get rid of,
trash; task, story, comment, note: remark, said, discussion, feedback, reply, update; task, due, date,
deadline: until when, overdue; task, assignee, assign, member: who does, whose, responsible, hand over, give
to; section, column, board, list: group, lane, swimlane, doing, stage, card, stack, shift; project, status,
update: progress report, health; project, search, list: undertaking, initiative, programme, effort; tag,
label, category: sticker, keyword, colour, mark, classify, group, folder, drawer; tag, label, create:
define, invent, new kind, introduce; milestone, goal, objective, okr: aim, target, want to reach, ambition;
event, create, calendar: appointment, meeting, diary, schedule, book, date, put in, slot, arrange, entry,
party, lunch, dinner, dentist, fix a time; event, list, calendar: upcoming, busy day, schedule; event,
delete, calendar: cancel, called off, fell through, strike, skip, drop, does not happen; event, update,
calendar: move, reschedule, postpone, shift, another time, later, bring forward; event, respond, invitation:
rsvp, decline, maybe, will come, cannot come, attend, turn down; event, recurring, repeat: every week, each
monday, weekly, daily, regular; freebusy, availability, free, busy: spare time, open slot, when can, hour to
spare, have time, gap, is anybody free; calendar, list: diaries, agendas, planners; time, zone, current:
what time, clock, date today, which day; email, send, mail: letter, write to, drop a line, compose, message
to, mail somebody, let know in writing; email, draft: hold, later, unfinished, look over first; email,
search, list: inbox, did they write, letters from, correspondence, mailbox, find mail; email, read, get:
open, what does it say, content of the letter; email, delete, trash: purge, get rid of, bin; email, modify,
label, move: archive, file, drawer, mark as read, unread, folder, sort; email, filter, rule: automatically,
by itself, skip inbox, sort incoming, whatever comes from, forward all; email, attachment, download:
enclosed, came with, pdf in the mail, save the file, attached; email, label, folder, create: drawer,
compartment, pigeonhole; email, thread, reply: answer, respond, write back, conversation, follow up; email,
batch, multiple, bulk: in one go, all these, many at once, mass; contact, object, search, crm: customer,
client, lead, prospect, buyer, person at, who do we know, company, deal; contact, object, create, crm: enter
people, met, add lead, new client, new deal, business card; contact, object, update, crm: new phone number,
changed job, correct; contact, property, field, list: what do we keep, attributes, what is known, columns;
engagement, note, activity, log: phone call, spoke with, what the customer said, write down, record, meeting
notes, touchpoint; association, relate, link, objects: works at, belongs to, tie, connect, goes with;
workflow, list, automation: runs by itself, automatic, automations, flows, which processes; workflow,
create, automation: whenever, by itself, new flow, when this then that, set up, automate, trigger, process;
workflow, update, node: change step, adjust flow, add a step, connect; workflow, execute, trigger, test: run
now, set off, try out, kick off; workflow, validate, check: anything wrong, errors, correct, valid, before
it runs, lint, verify; workflow, version, rollback, history: bring back, how it was, earlier, restore,
previous, undo, last week; workflow, delete, remove: no longer wanted, obsolete automation; execution, list,
run, history: did it run, went well, last night, past runs, failed runs, outcome, results; node,
integration, connector, search: building block, module, step, adapter, plug in, service, component;
template, get, search: ready made, blueprint, example, starting point, recipe; credential, secret, manage:
password, login, key, api key, access data, sign in details; data, table, rows, manage: list of things,
store entries, sheet; audit, security, instance: weak spots, is it safe, risks, check up; health, check,
instance, ping: is it up, alive, reachable, working, running well; vector, index, records, search: similar,
similarity, meaning, semantic, nearest, neighbour, about the same, embedding, alike; vector, records,
upsert, insert: feed, store, add texts, put in, embed, ingest, write; vector, index, create: new store,
namespace, make place for; vector, index, stats, describe: how full, how many records, size, count, usage;
rerank, rank, relevance: order by, best first, sort results, reorder, most fitting, score; scrape, page,
markdown, extract: read a site, content of a page, get the text, copy, harvest, pull, web page; search,
engine, web, google: what does the net say, online, internet, serp, bing, look up, results; product, amazon,
ebay, walmart, shop: item, goods, article, kettle, price, offer, for sale, cost; product, reviews, ratings:
buyers, happy, satisfied, opinions, feedback, customers say, any good, stars, recommend; profile, person,
linkedin: career, cv, resume, work history, professional, job experience, background, who is, bio; company,
profile, business: firm, employer, enterprise, organisation, corporation, startup; job, listing, search:
vacancy, opening, position, hiring, work at, recruit; post, social, feed: wrote, said publicly, timeline,
status, shared; comments, video, post: reactions, what do people say, under that clip, replies, viewers,
remarks, audience; video, youtube, tiktok, reel: clip, film, watch, views, seen, short; hotel, booking,
listing: place to sleep, accommodation, room, night, stay, lodging, guesthouse; property, zillow, listing,
estate: house, flat, apartment, home, real estate, rent, buy a home, housing; finance, stock, business,
quote: share, exchange, market, trading, firm is doing, worth, investor; news, article, headline: happened,
press, journal, newspaper, current affairs; app, store, play: program for the phone, rating of the app,
downloads; package, npm, pypi, registry: library, dependency, module, which version; dataset, fields,
records: collection of data, data set, ready data; event, issue, error, search: exception, crash, what
breaks, broke, failing, complaints, went wrong, users hit; issue, update, resolve, ignore: fixed, close,
silence, assign, mark, never mind, dealt with, reopen; issue, analyze, root, cause: why, reason, explain,
how come, where does it come from, fix; release, find, list: version, deployed, shipped, what went out,
latest build; team, create, list: group, squad, department, people together, crew; organization, find, list:
company, account, which firms, belong to; project, create, new: set up, start, begin, place for; replay,
session, details: what did the user do, watch the visit, recording of a visit, see what happened; trace,
span, performance: slow, how long, latency, where is the time, bottleneck, duration; dsn, key, project,
create: address to send errors, client key, connection string, ingest; whoami, user, authenticated: who am
i, my account, logged in as, which login, myself, identity; geocode, forward, address: where is, find place,
coordinates of, latitude of, position of; geocode, reverse, address: what is at this point, which street,
nearest address, from coordinates; directions, route, navigation: way to, get there, drive, walk, cycle,
turn by turn, how do i get; isochrone, reachable, area: how far in, within minutes, can i reach, commute,
travel time area; matrix, travel, distances: between all, many points, how long between, closest of; map,
static, image: picture of the area, snapshot of the town, show on a map; place, category, search, poi:
restaurants, petrol, pharmacy, coffee, nearby, around, shops, close by; place, pin, location, point: where
things are, branches, spots, dots on a map; route, path, trip: journey, itinerary, travel, tour, city to
city; session, browser, create, close: fresh window, open a browser, begin, end; session, statistics, usage,
stats: how often did i use, so far, consumed; default, defaults, session, set: remember for later, always
use, standard, preset; chart, generate: picture of, draw, show the numbers, numbers as, see the numbers,
visual, make visible, put in a picture, paint; chart, bar, column: compare the, who sold most, which is
most, next to each other, tall, taller, towers, which of them is biggest; chart, line: over the year, over
the months, over time, going up, going down, rise and fall, up and down, how it developed, month by month,
day by day, week by week, from year to year, through the year, rose, fell, course of; chart, area: over
time, build up, pile up, filled, grows; chart, pie: share of, who gets how much, portion, slices, cake,
split up, make up the whole, which part, goes for rent, where does the money go, piece of the; chart,
histogram: how often, spread, how are they spread, how old are, age groups, in bins, most common, are they
distributed; chart, scatter: depends on, hang together, does it matter, does one, dots, related to, more of
one means, tall people, the one on the other, go hand in hand; chart, radar: strong and weak, good and bad
sides, skills, in several respects, all sides, all round, web; chart, funnel: how many are left, give up on
the way, step by step fewer, from visit to purchase, lost on the way, get lost, at each step, how many of
them buy; chart, sankey: from where to where, where does it go, flows, comes from and goes, end up, streams;
chart, waterfall: how did we get from, plus and minus, step by step to, what brought it up; chart, treemap:
big boxes, boxes, takes most room, room each, size of each, boxes inside; chart, boxplot, violin: middle,
far out, scatter of, most people earn, extremes, shape of the, half of them; chart, dual, axes: two things
at once, two scales, two measures, with rain and temperature, both in one picture, left and right; chart,
liquid, gauge: how full, glass, half full, how far are we, percent done, tank, in percent; diagram, venn:
both, who is in both, circles, share with, belong to both; diagram, fishbone: what may have led, what leads
to, reasons for, all possible reasons, led to; diagram, flow: what happens first, then what, if this then
that, yes or no, steps of, one step after, how does it run, way of doing; diagram, organization: who reports
to, who is above, chief, superiors, who is whose, head of, under whom; mind, map: thoughts, ideas,
brainstorm, all that comes to mind, around one idea, thoughts on; network, graph, nodes: who knows whom, who
is linked, web of, connections between, friends of, relations between; word, cloud: which words, words used
most, big words, most used, what do people write, how often words; map, pin: where are our, on a map, show
where, places on, shops on, dots on; map, path, route: way we went, travel, journey, our trip, line through,
from city to city; map, district: counties, states, provinces, by region, per region, colored by, which
region; device, devices, mobile: phone, phones, tablet, handset, gadget, plugged in, at hand, iphone,
android, pixel; simulator, sim, emulator: pretend phone, phone on my screen, phone on my computer, fake
phone, make believe phone, virtual phone, not a real phone, test phone; device, boot, sim: turn on the
phone, switch on, wake up; app, launch, open: start the, open the, bring up, on the phone, tap on the icon,
get the game; app, terminate, stop: close the, swipe away, quit, shut the game, shut; app, list, apps: which
programs, what is on my phone, games on, what have i on, what is installed, programs on; app, foreground: in
front, looking at, which one is open, on top, what am i using; screen, elements, snapshot, ui: what can i
press, what can i tap, buttons there are, what is on the screen, what can i see, what is there to press,
where are the buttons, what do i see; screen, tap, click: put my finger, finger on, touch, press here, poke
at; screen, long, press: keep the finger, keep pressed, hold down, hold the finger; screen, double, tap:
twice, two quick, quickly twice; button, press, home, volume: home, volume, louder, quieter, power, back
key, loud; orientation, screen: turn sideways, on its side, sideways, lying, upright, wide, which way round,
turn the phone, hold it across; location, gps, set: somewhere else, in paris, in rome, in tokyo, be in,
abroad, think i am, where it is, walk through; clipboard: what i copied, copied, what i cut, paste, carry
text; crash, crashes, report: died, closed by itself, went down, fell over, gone, shut by itself; recording,
video, screen: film, movie, moving, what happens on the, clip; tab, tabs, page: other page, pages are open,
what have i open, window, second page; form, fill: sign up, boxes, questions, name and address, my details,
order form, registration, put in my, application; dialog, alert: asks whether, are you sure, question pops,
popup, window popped, message in the way, box that, say yes to, box popped, little window; console,
messages: developer, complains, grumbles, what did the page, red lines, errors of the page, says in the
background; network, requests: background, behind the scenes, talks to, who does it talk, loads, asks the
server, phones home, sends off, traffic, what did it load, goes over the line; performance, trace: slow,
takes so long, why so slow, sluggish, drags, quick, fast, how fast, what takes the time, feels, load time,
crawls; lighthouse, audit: how good is, marks, grade, report card, blind, people who cannot see, found by
google, school report, quality; heap, memory, snapshot: eats more, ever more, grows and grows, fills up,
full up, ram, swells, leak; evaluate, script, javascript: run code in, own code, piece of code, in the page
itself, little program in; css, styles: looks, why is it blue, font, big letters, colour of, margin,
spacing, how it is dressed, design of the; accessibility, snapshot: read the page, what is on the page,
parts of the page, what can i click, structure of; cookie, cookies, storage: remembers me, remembered by;
page, markdown, content, scrape: text of, article, what does it say, what is written there, read the site,
words of, plain text, without the adverts, get the words, what stands on; crawl, pages, site: whole site,
every page of, all their pages, everything they have, the entire site, collect all, corner of their site;
map, urls, site: which pages, what pages, addresses on, which addresses, list of addresses, all links, links
on, overview of a site; extract, structured, data: prices from, names and prices, pick out, only the, as a
table, from many pages, pull the numbers, out of these pages; monitor, changes, page: tell me when, eye on,
as soon as the price, changes there, anything new on, price falls, price drops, when it is back, whenever
they; search, web: on the internet, on the net, online, google, the web, look up on, in the news, what is
the latest, who won, out there, what do people say, happening in the world; news, article: what happened,
today in the world, paper, headlines, press, in the world; research, deep, report: thorough, everything
there is, in depth, with sources, really well, long report, study up on, all about a subject; papers,
research, academic: scientists, science, scientific, study, studies, professors, university, journal, proof
that, has anybody studied, scholars, been shown; papers, related, similar: others like, same subject, builds
on, akin; product, shop, search: buy, kettle, shoes, where can i buy, what does it cost, how much is, price
of, cheapest, for sale, on sale, offer, in the shop, toaster, headphones; reviews, ratings: any good, what
do buyers, are people happy, happy with, is it worth, do people like, stars, satisfied, what do people
think, worth the money, praise; seller: who sells, shop behind, dealer, merchant; property, house, zillow:
flat, apartment, home, rent, live in, bedrooms, buy a house, house cost; hotel, booking: place to sleep,
room for the night, where to stay, sleep, stay the night, bed for, overnight; job, jobs, listings: who is
hiring, vacancies, openings, looking for people, work at, career, work for, new job, hire; profile, person,
linkedin: worked before, where did she work, where did he work, what has she done, background of; company,
profile, crunchbase: how big is, how many people work, who founded, money from investors, who owns, what
does the firm, funding; posts, social: what did she post, said in public, says the president, published,
wrote lately, what are people saying, public; profiles, followers: how many fans, fans, followers, who is
that singer, star; comments, video, post: under the clip, say under, below the film; video, videos, youtube:
clip, film, watch, what is it about, how many watched; finance, stock, business: worth, share price, how is
the firm doing, stock exchange, shares, market, earn; app, store, play: stars has, what do users say of the
app; package, npm, pypi: library, newest version, who made, how many use, still kept up, module; dataset,
fields: what is in the data, ready data, what can i get; insights, ai, chatgpt: what would the robot,
another robot, ask the other, what does the machine say; docs, library, documentation: how is it used,
manual of, how do i use, newest way, read up on, what is new in, examples for, instructions for, handbook;
library, id, resolve: exact name, which one do they mean, proper name, what is it called; design, figma,
file: mockup, drawing of the app, what the designer, designer drew, layout, build what, looks planned,
sketch; images, download, assets: icons, pictures, logo, drawings, artwork; entities, memory, create: know
about, learn about somebody, new person, new fact, keep that, anna is, never heard of; relations, memory,
create: is married, works for, works at, is friends, knows, sister of, boss of, loves, related, is the
mother, lives with, brother; observations, memory, add: likes, is allergic, one more thing about, also, has
a dog, prefers, turned, moved to; graph, read, memory: all you know, everything you know, whole of what,
everything that you remember, tell me everything; nodes, search, memory: what do you know, do you know,
remember about, have i told you, did i tell you, recall, ever mention; page, wiki, notion: notes, company
knowledge, write down, place in the wiki, article, piece of writing, manual, handbook, meeting notes; block,
blocks, children: paragraph, passage, bit of text, list on the page, few lines, line at the end, bottom of
the page, sentence to, heading; comment, comments: remark, opinion, what was said, what people said,
thoughts, what do they think, discussion, note on, words under; place, places, nearby: restaurant, cafe,
pizza, near me, near here, around here, round here, close by, where can i eat, petrol, chemist, shop,
hairdresser, eat, coffee, bakery, bank; place, details: open on sunday, opening hours, phone number, when
does it open, still open, what do guests, is it any good, closed on; directions, route: how do i get, get
there, get to, get from, way to, which way, walk to, drive to, train, bus, by bike, on foot, take me to;
distance, matrix: how far, how long is, apart, farther, kilometers, miles, nearer, closest to, far is it;
geocode, coordinates: where exactly, degrees, where on earth, point on the map, numbers for the place,
position of; reverse, geocode, address: what is at, which street, what place is, whereabouts, whose door,
place at these; elevation: how high, above the sea, hill, mountain, height, climb, uphill; weather,
forecast: rain, umbrella, sunny, cold, hot, warm, coat, snow, storm, outside, bring a jacket, freezing;
isochrone, reachable: how far can i get, in half an hour, within an hour, reach within; flag, feature,
flags: switch, turned on, who sees, new button, hide a feature, halfway, half finished, new look, on for;
flag, status, environments: is it on, where is it on, is it still used, on in production, on everywhere,
does anybody still; targeting, rules, rollout: who gets, only for, a few people, tenth of, percent of the,
some customers, beta testers, employees first, certain people; code, references, flag: where in the code,
still used in, in our source, which files, safe to remove; audit, log: who changed, who did, who turned, who
switched, who has been, who flipped, what was done, whodunit, when was it changed, who touched; config, ai,
model: assistant, robot, what is the assistant told, how does the bot, chat bot, instructions of; variation,
ai, config: other version, another way, second version, alternative, other wording, to try against;
workflow, automation: runs by itself, by itself, automatically, whenever, chain of steps, robot, recipe,
every time, process, machine that, every morning, when this then that, automations; workflow, execution,
executions, run: did it run, went well, go well, ran last night, result of last, what did it do, ran, how
did it go; workflow, versions, history: how was it before, earlier, go back to, before i changed,
yesterday's; node, nodes, integration: building block, step for, piece for, part that, which steps,
connector, can it talk to, block; template, templates: ready made, somebody else's, starting point, example
of, already made, has somebody done, blueprint, made before; credentials, manage: passwords, logins,
accounts it uses, keys; datatable, table, rows: little list, small table, keep a list, store; health, check,
status: is it up, is it alive, everything all right, running well, all well, still there, well, is
everything ok, does it still work, in good shape, are you ok, how are you feeling; repair, fix, autofix:
mend, put right, heal, set right, make well, patch up; performance, metrics, stats: how busy, how fast, how
much is used, numbers of, load; scheme, schemes, targets: what can be built, what can i build, ways to
build; settings, build, show: how is it built, options when building; clean, cleanup: left overs, sweep, old
stuff, tidy up, rubbish, start fresh; parse, pdf, document: what is in the pdf, read the paper, scanned,
contract text; spreadsheet, excel, sheet: table of numbers, rows and columns, cells, accounts, number table,
sheet of; pdf, write: print, printable, paper form, ready to print; prompts, examples: what can i ask, ideas
what to do, suggestions, how do i begin; config, get, settings: how is it set, what is set, what may you do,
allowed; sum, add: two numbers, plus, together, sum, makes; echo: say after me, say the same, say back,
repeat, talk back, parrot; env, environment: surroundings, what does the server know, started with; image,
tiny: little picture, any picture, small picture; gzip, compress, zip: make smaller, squeeze, pack, smaller
file; logging, simulated, toggle: make noise, make it talk, chatter; long, running, operation: takes a
while, take its time, something slow; backlog: not yet begun, still to come, what comes next, waiting to be
done, pile of work, later some time; capacity: how many hours, who has room, who has time, can we manage,
how much can we; test, plan, case, suite: what has to be tested, what to test, steps to try, list of tests,
what testers, testing of; alerts, security: holes, weak spots, dangers, leaks, hacked, danger, break in,
burglar, unsafe, risky; log, build: what was printed, what did the machine say, what happened while
building; definition, pipeline: how is it set up, which builds, recipe of the build; identity, ids: who is
behind, real name of, number of a person; payment, charge: pay, paid, money, buy, card, money came in, cash,
who has paid; payment, link: let people pay, way to pay, pay me, page where; refund: money back, give back,
return the money, pay back, take back; invoice: bill, owes, owe, ask for money, send a bill, due money;
customer, create: new client, new buyer, first time; subscription: every month, monthly, stop paying, keep
paying, member, membership, each year; coupon, discount: cheaper, percent off, reduce, voucher, special
offer, bargain; balance: how much money, what do we have, on the account, rich, in the till, funds; dispute:
fights the, wants the money back, claims, complains to the bank, never bought; price, product, create: sell,
new thing to sell, costs from now, charge for, offer; order, orders: bought, what did they buy, purchase,
sold, delivery, parcel, where is my, on its way; inventory, stock: how many left, run out, in store, on the
shelf, left in the; track, song, music, playlist: hear, listen, play, tune, band, singer, louder; app, apps,
dyno: running on, program on the web, website; addon, addons: extra, what else do we pay, extra service,
plug; maintenance, mode: closed for repairs, back soon, nobody in, shut the shop; session, sessions:
conversation, open window, what is open, going on; observe, page: what could i do, what can be done here,
what is possible; act, page: do something, do this for me; key, value, set, get: remember under, little
note, look up what, stored under, put under the name; hash, list, set: bunch, queue, pile, group of values;
mock, server: pretend, fake, stand in; collection, request, api: saved calls, calls, tries; actor, scraper:
ready made robot, robot, little helper; project, projects, list: what have we, apps do we, all our; release,
find: which version, what version, newest, out there since; replay: what did the user do, watch what, see
what they did; dsn, key: where to send, address for errors; seer, analyze: let the machine find, why it
breaks
`
