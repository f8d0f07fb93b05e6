/**
 * Words of tools, and after the colon what people say who want them: words and phrases, of which none need
 * mean the same. Written by what servers do; `bench/search` says what they are worth.
 */
export const SAYINGS = `
create: start a, begin, establish, come up with, produce, craft, put together, whip up, lay out, raise,
file, log, report, prepare, another, fresh; create, add: put in, throw in, slot in, enrol, onboard, sign up,
bring in, introduce, need, jot, write down, put down, note down, enter, include, place; delete, remove: bin,
scrap, ditch, nuke, axe, kill, wipe, strike, cancel, dump, shred, scratch, lose, cut, take out, take away,
take off, toss, zap, kick, no longer, not any more, rid, useless, unwanted, obsolete, stale; update, edit,
set: fix, correct, touch up, tidy, tweak, amend, alter, adapt, swap, different, rename, reword, raise,
lower, bump, mark, turn into, make it, bring up to date, no longer true, mistake, typo, wrong; list: what
are, which, every, everything, overview, roster, rundown, enumerate, our, there are, available, all of,
names, exist, got; get: pull up, bring up, dig out, hand me, grab, tell me, give me, look at, learn, know
about, fetch, details, what exactly, exactly, particular, specific; search, find: hunt, dig, track down,
look for, where, anything about, mention, mentions, called, named, spot, scan, sift, discover, browse,
hunting, somewhere, contain, about; read: see, open, look inside, what does it say, says, show, contents,
text, peek; write: put, save, scribble, jot, dump, store; send, post, message: tell, ping, drop a line,
shoot, let know, inform, announce, share, reach out, say, notify, broadcast, alert, news, word, contact,
write to, text, whisper, shout; reply, thread, comment: answer, get back, respond, below, weigh in, react,
say something, chime in, opinion, remark, leave a note, tell, thoughts, talk back, follow up; comments:
said, say, opinions, thought, discussion, feedback, criticise, criticize, remarks, notes, people think,
responses, objections; channel: room, chat, group, place to talk, conversation, space, team chat; channel,
history: talking, talked, discussed, said, conversation, chatting, earlier, missed, catch up; reaction:
thumbs up, heart, emoji, smiley, like, applaud, celebrate; user, users: people, who, someone, somebody,
person, colleague, employee, coworker, teammate, everybody, everyone, staff, folks, them, guy, humans,
names; profile: who is, about a person, bio, details, phone, job title; self, me, whoami: who am i, myself,
signed in, logged in, my account, my own, which account; invite, member, add: let in, bring in, join,
access, new colleague, give access, onboard; remove, member, revoke: kick, take away access, lock out, fire,
offboard, left the company, no longer allowed; permission, role, access: allowed, may, who can, rights, let,
may see; issue, ticket: problem, defect, bug, complaint, trouble, something broken, broken, wrong, task,
request, glitch, things to fix, work item, story; issue, assign: give to, hand over, responsible, take care,
in charge, pass on, whose job; issue, close, update, state: finish, done, solved, resolve, mark as done,
complete, sorted, fixed; label: tag, category, mark, colour, classify, group; pull, request, merge:
proposal, proposed changes, changes, contribution, submission, review, my work, finished work, patch; pull,
request, review: look over, check, approve, happy with, feedback on changes, sign off, second pair of eyes,
criticise; pull, request, files, diff: touch, what would change, what changes, affected, modified; merge:
bring together, combine, put in, main line, bring in, land, integrate, join, unite, fold, finished; branch:
line of work, line of development, separate line, version, side, parallel, feature, strand; checkout,
switch: go over, move to, change to, jump to, other; commit: save my work, record, seal, snapshot, check in,
changes, point in history, save point; commits, log, history: lately, recently, happened, past, earlier,
what changed, who changed, last changes, timeline, done so far, previous; diff, compare: changed, different,
differ, altered, between, versus, what is new, since, vs, differences, side by side; blame: who wrote,
responsible, whose fault, author, who changed, line; revert, reset, rollback, restore: undo, back, go back,
take back, bring back, old version, previous, before, yesterday, mistake, rewind, earlier state, throw away
changes, recover; rebase: replay, on top, reapply, rewrite history, tidy history; cherry, pick: single
change, one change, just that, only that, copy a change; stash: put aside, aside, park, half done, for a
moment, for later, set aside, keep for later, unfinished; push: upload, publish my work, let others have,
share my work, send up, hand in; pull, fetch, sync: latest, up to date, what others did, newest, catch up,
download, bring in, meantime; clone: copy of project, whole project, download project, onto my machine, my
computer, get the code; fork: my own copy, own version, copy of somebody, personal copy; remote: server
copy, origin, where it lives, address of the repository; status: going on, how far, done yet, finished,
still running, ready, progress, state of, did it work, uncommitted, forgot, worked, succeeded, up, fine,
doing, how is, in flight; tag, release, version: name the state, milestone, mark a version, ship, number,
launch, new version; repository, project: codebase, code, project, program, source, our code; code: program,
function, source, where used, implementation, method, snippet; file, files, document: letter, paper, papers,
text, notes, report, poem, essay, spreadsheet, config, readme, script, cv, draft; file, write, create: save,
store on disk, put on disk, on my disk, on my computer, keep; file, edit, replace: swap, sentence, line,
correct, change a word, paragraph, wording; file, move, rename: another name, call it, new name, different
place, elsewhere, put into; file, info, metadata: when last, how big, size, touched, who owns, how old,
created; directory, folder: place for, downloads, where i keep, drawer, everything in, location, somewhere
to put; directory, tree: nested, structure, outline, all levels, draw, layout, inside, subfolders;
directory, allowed: which places, may touch, where may, reach; multiple, batch, bulk, many: several, all of
these, at once, at the same time, in one go, together, fifty, hundred, dozen, ten, both, three, lots, a
bunch; process, command: program, app, job, task, software, script, running, on my machine, shell; process,
kill, terminate: hang, hangs, frozen, stuck, end, quit, stop, force, close, does not respond, crashed;
process, list: running, eating, busy, slow computer, cpu, memory hog; process, output, logs: printed, print,
so far, said, wrote, what happened, tell; process, input, interact: answer, type into, respond, talk to,
feed; config, settings: preferences, options, behaviour, behavior, how set, allow, forbid, switch, adjust,
limit, forbidden; environment, env, variable: settings, started with, secrets, configured; logs: what
happened, why, crashed, printed, wrong, failed, messages, say, blew up, recorded, trail, complain; error,
exception, failure: crash, went wrong, broke, broken, blew up, bug, fails, failing, why, trouble, wrong,
complain, problem; debug, analyze, diagnose, explain: why, cause, reason, understand, figure out, slow,
root, how come, what is wrong, does not work; explain, docs, describe, documentation: how do i, what may,
what does, what is, mean, meant, used, manual, works, work, how to, instructions, meaning, use; performance,
trace, profile: slow, speed, fast, takes long, too long, quick, sluggish, lag, feel, snappy; lighthouse,
audit, accessibility: quality, how good, blind, bad sight, score, search engines, check up, graded, health;
network, request: background, load, loaded, traffic, calls, talk to, server answer, sent, fetched, ajax;
console: complain, developer, complains, warnings, errors, prints; heap, memory, snapshot: eats, more and
more, leak, ram, grows; emulate, throttle: pretend, bad connection, slow connection, mobile, phone,
simulate, as if; resize, viewport, window: small, smaller, bigger, size, wide, phone, as large as, narrow,
tall; navigate, page, url: go to, site, website, visit, take me to, open, surf, address, homepage, head
over, link; navigate, back: previous, before this, return, go back, one step back; tabs, pages: open in the
browser, else is open, windows; browser, close: finished, surfing, done with, quit, shut; click: press,
button, hit, choose, push, tap, activate, link; hover: pointer, mouse, rests, over, tooltip, without
clicking; fill, type, form: enter, write, boxes, put my name, sign up, input, key in, details, answer the
questions, complete; select, option, dropdown: choose, list of, pick, choice; key, press, keyboard: hit,
escape, shortcut, enter; drag: move over, pull, slide, another column, carry; upload, attachment, attach:
pin, hand in, send along, put up, add a picture, document, include, cv, enclose; dialog: popup, asks, are
you sure, alert, question, warning; wait: hold on, until, pause, appears, patient, ready, till; screenshot:
looks like, how it looks, picture, photo, capture, show me, looks, see, appearance, snap, image; screencast,
video, record: film, what happens, capture, movie, tape, clip; evaluate, script, execute, javascript: work
out, compute, run code, inside the page, calculate; scrape, extract, content: text of, article, read a page,
give me, prices, contents, copy from, grab, page says, pull from; crawl: subpages, whole site, everything,
all pages, collect, every page; map, sitemap: which pages, structure, does that site have, addresses, links,
outline; monitor, watch: eye on, let me know when, changes, edited, tell me when, notify, whenever, look
out; web, search: internet, online, look up, google, news, net, find out, look this up, out there, facts,
sites; research, papers: scientist, scientists, study, scholar, thorough, in depth, report, sources, wrote
about, academic, evidence, published; image, images, picture: photo, pictures, icons, drawing, logo,
graphic, artwork, look of; image, generate: draw, paint, make a picture, illustrate, sketch, imagine;
speech, audio, voice: read aloud, say out loud, spoken, sound, talk, listen, hear; transcript, transcribe:
what was said, words of, written down, spoken, subtitles, captions; translate: in another language, into
german, into english, into french, foreign, language; summarize, summary: in short, gist, main points,
brief, long story, shorten, key points, recap, sum up; design, figma: mockup, build it, look, layout,
prototype, sketch, screens, ui; library, docs: package, manual, framework, how is it used, reference,
module, dependency; library, resolve, id: identifier, which id, find package, exact name; think, thinking,
sequential: break down, hard problem, step by step, revise, ponder, figure out, reason, puzzle, consider,
work through; memory, entities, knowledge: remember, keep in mind, know about, noted, from now on, remind,
facts, fact, learned, forget, colleague, likes; memory, relations: works for, belongs, knows, friend of,
related, connected, married, connection; memory, observations: note that, likes, from now on, detail, fact,
true, learned; graph, read: everything you know, all you know, ever noted, whole memory, tell me everything;
search, nodes: what do you know, remember about, recall; page, wiki, document: notes, entry, article, write
down, place, doc, text, knowledge base; block, append, children: paragraph, section, passage, add text, part
of page, line; database, table, base: sheet, spreadsheet, list, data, workbook, tables, stored, data server,
catalogue, register, customers, orders; record, row, entry: line, customer, item, person, order, people,
supplier, customers, entries, orders, products; record, create, insert: new line, put in, add a, enter, sign
up; record, update: correct, phone number, price, finished, change; record, list, query, find: show all,
which, how many, who, customers, orders, this week, last month, came in, overdue, signed up; record, delete:
strike, remove line, old entries; field, column: birthday, another column, one more, property, attribute,
information, value; schema, structure, describe: fields, what columns, which fields, how built, shape, looks
like, made of, layout; query, sql: according to, tables, how many, customers, ask the data, numbers,
average, total, per month, statistics, answer; aggregate, sum, group: average, total, of each, per, by
country, altogether, mean, breakdown, how much, statistics; count: how many, number of, total, got, amount,
quantity; index: takes too long, faster, speed up, slow lookups, quick; collection, table, drop: throw a
whole, set of data, all the data, entire; migration, schema, alter: change structure, add column, evolve;
backup, export, dump: copy for safety, safe copy, take away, save a copy, download everything, keep safe;
import, load: bring in, feed, from a spreadsheet, read into; cache, redis, key, set: remember a value, store
under, put under a name; cache, key, get: look up value, stored under, what is under; expire, ttl: forget
after, how long does it live, time to live; similar, vector, embedding: like this one, resemble, close to,
close in meaning, related; pod, container: service, app, workload, program, box, crashed, alive, instance,
image; container, list, get: which run, alive, running, up; container, exec: look around inside, get into,
inside, step into; scale, replicas: copies, more, five, in place of two, bigger, capacity, load, fewer;
rollout, rollback, deployment: yesterday, production, go back, version, bad, old one, undo, last good;
deploy, apply: bring into effect, put live, online, publish, yaml, take effect, ship, go live, roll out;
helm, chart, install: ready-made, set up, package, put into the cluster, redis; upgrade: newer, latest
version, up to date, bring up, newest; port, forward: reach, from my machine, locally, own machine, tunnel,
access; node, drain, cordon: machine, repair, out of service, maintenance, empty; context, switch: work on,
test cluster, from now on, another cluster, other environment; cluster, kubernetes: machines, servers,
production, nodes, infrastructure; instance, server, vm: machine, box, computer, host, boot, hardware;
instance, start, create: spin up, new machine, boot, rent, bring up; function, invoke, lambda: run code,
call, without server; bucket, object, storage: cloud files, stored, upload to cloud, drive; domain, dns:
name of site, address, points to, web address; certificate, ssl: padlock, secure connection, expire; secret,
vault, password: credentials, keys, hidden, sensitive, login details; pipeline, build, workflow, run:
checks, green, tests, compile, once more, try, main line, ci, automation; build, failure, logs: break, why,
red, failed, went wrong, does not compile; test, tests, flaky: checks, fail only, now and then, unreliable,
sometimes, pass, green, verify; rerun, retry: another try, again, once more, second chance, repeat, try;
trigger, run: kick off, set going, start, launch, go, fire; cancel: stop, call off, abort, never mind, take
back, drop; pause, resume: hold, continue, carry on, later, freeze; schedule, event, calendar, create:
meeting, appointment, book, set up a time, arrange, put in my diary, plan, date, invite, slot, remind;
event, calendar, list: agenda, my day, today, tomorrow, this week, what is on, plans, busy; freebusy,
availability: when free, is there time, have time, gap, slot; reminder, task, todo, create: remember to, do
not forget, remind me, have to, need to do, jot; task, complete, close: done, finish, tick off, check off,
cross off, finished; task, list: left to do, have to do, open, due, my work, plate, overdue, outstanding;
project, board, list: what are we working on, overview, plan; sprint, cycle, milestone: two weeks,
iteration, goal, deadline, due; email, mail, send: write to, letter, drop a line, message, tell by mail;
email, search, messages: inbox, got mail, letters, what did they write, from my boss; email, draft: prepare
a letter, not send yet, unfinished mail; email, archive, label, move: tidy inbox, file away, sort mail; sms,
message, send: text, phone, mobile; call, phone: ring, telephone, dial; contact, customer, lead: client,
person, somebody, buyer, prospect, shopper, patron, address book; customer, create: sign up, new client,
register, take on; deal, opportunity: sale, business, contract, prospects; company, organization: business,
firm, who do they work for, employer, client; invoice: bill, ask for money, owes, owe, charge them, what
they owe, get paid; payment, charge: money, pay, paid, collect, cost, credit card, transaction, buy; refund:
money back, give back, return the money, take back, reimburse, pay back; balance: how much money, on the
account, funds, left, cash, rich; subscription: monthly, plan, recurring, membership, each month, renew;
subscription, cancel: stop paying, end membership, leave, no more, unsubscribe; price, product, create:
sell, offer, new thing to buy, cost; coupon, discount, promotion: cheaper, off, percent, sale, less, reduce,
rebate; dispute: customer complains, bank, fight, contest, claims; order, orders: bought, purchase, sold,
came in, shopping, buys, delivery; inventory, stock: how many left, in store, have left, warehouse, run out,
available; shipping, fulfillment, tracking: parcel, deliver, package, where is it, on its way; cart,
checkout: basket, buy, about to buy; finance, stock, ticker, quote: shares, market, worth, trade, company
value, wall street, investment; weather, forecast: rain, umbrella, sunny, cold, hot, warm, coat, snow,
outside, storm, degrees, wind; time, timezone, current: what time, clock, hour, late, now, what o clock,
tokyo; convert: turn into, change into, from to, exchange, another format, as a, switch between; currency,
exchange, rate: dollars, euros, money, worth, pounds; calculate, sum, math: add up, plus, total, work out,
and, what is, times, figures; random: roll, dice, chance, luck, any; echo: say the same, repeat, back to me,
parrot; place, places, local: around here, near, nearby, pizza, restaurant, where can i, cafe, shop, eat,
close to me, around me; place, details: open, opening hours, visitors, reviews, when does it open, ratings;
directions, route: how do i get, way, from to, drive, walk, travel, station, get there, journey; distance:
how far, apart, how long, miles, kilometres, kilometers, far away; geocode: latitude, where exactly, point,
coordinates, on the map, position of an address; reverse, geocode: which street, what address, point, globe,
at this position; elevation: how high, above the sea, height, altitude, mountain, hill; hotel, flight,
search, booking: travel, trip, stay, holiday, vacation, fly, room, ticket, journey, bed; music, track, play:
song, tune, listen, put on, hear, band, artist; playlist: mix, songs, list of songs, collection of music;
video, youtube: clip, film, movie, watch; news, headlines: happening, going on in the world, today, latest,
current events; recipe, meal: cook, dinner, eat, food, lunch, ingredients; chart, graph, plot: draw,
visualise, visualize, picture of the numbers, curve, bars, show numbers; diagram, flowchart, mermaid: draw,
boxes, arrows, sketch, architecture; dashboard, panel: overview, screen, numbers at a glance, monitor;
metrics, statistics, stats: numbers, how often, how many, how much used, figures, trend, visitors, popular;
alert, incident: outage, down, on fire, emergency, alarm, broken, page, wakes, trouble; incident,
acknowledge: take it, on it, seen it, deal with; oncall, schedule: who is on duty, who do i wake,
responsible tonight, on duty; analytics, report, traffic: visitors, how many people, views, clicks, popular,
campaign; campaign, newsletter, mailing: advert, marketing, subscribers, promote; form, survey, responses:
questionnaire, answers, ask people, feedback, poll; presentation, slide: talk, deck, lecture, slideshow,
keynote; spreadsheet, sheet, cell, range: table, numbers, workbook, excel, columns; document, docx,
paragraph: letter, word, essay, text; pdf, document, write, generate: printable, report, print, paper;
archive, zip, compress: smaller, pack, bundle, shrink, squeeze; template: boilerplate, starting point,
pattern, reuse, standard; feature, flag, toggle: turn on, turn off, switch, roll out to some, enable;
experiment: try out, which works better, variant; vulnerability, security, scan: hole, hacked, safe, unsafe,
danger, risk, attack, exposed, secure; dependency, package, upgrade: outdated, libraries we use, third
party, old; lint, format: tidy, clean, style, pretty, neat; review, code: look at my work, critique, check
over, second opinion; model, llm, prompt, completion: ask an ai, assistant, answer a question, chat with,
other model; webhook, hook: tell another system, call me, notify when, whenever something; queue, job,
message, publish: hand over work, later, backlog, pass along; api, key, token: access, credential, password,
login; team, workspace, organization: group, company, us, department, our; star, favorite: like, bookmark,
remember, love; subscribe, follow: keep me posted, hear about, notified, informed; unsubscribe, delete,
monitor: no longer, stop telling, leave me alone, not interested; pin: keep on top, highlight, important;
archive: put away, hide, not needed, done with, old; parent, move: belongs elsewhere, somewhere else, put
under, under another, elsewhere; gist, snippet, paste: share a piece, small code, piece of code; secret,
scanning, alerts: leaked, exposed key, password in code; notification, list, unread: what did i miss, new
for me, bell, inbox; workflow, automation, zap: whenever, automatically, rule, when then; server, restart:
off and on again, reboot, bring back; tool, operation, progress, long: pretend to work, how far, slow task,
take a while; image, tiny, sample: little picture, any picture, example; resource, link, reference: pointer,
where to find; device, simulator, emulator: phone, tablet, iphone, android, handset, gadget, pretend phone;
app, install, launch: put on the phone, open program, start program, get it on; app, list: which programs,
what is installed, on the phone; swipe, scroll: slide, down the page, further down, finger, up and down,
lower down; tap, press: touch, finger, poke; elements, snapshot, ui: what is on the screen, what can i
press, see on screen, buttons; build, compile, run: put it together, make the program, executable, turn the
source into; container, image, docker: box, shipped, packaged; container, stop, remove: shut it down, away
with, not needed; volume, disk, mount: space, keep data, drive; env, variable, config, set: password for the
app, setting for production, key for the app; deployments, releases, list: what went live, shipped lately,
versions out there; logs, function: printed in production, server said, what did the server; domain, add:
our own address, name for the site, www; site, create, deploy: homepage, new website, put on the web;
errors, issues, events: users run into, crashes in production, exceptions, people hit; issue, details,
event: where in the code, stack, happened to the user; issue, resolve, ignore: do not bother me, fixed that,
sorted out; transition, status, issue: next step, move to done, in progress, start working on, put into
review; worklog, time: hours, spent, log my hours, how long did i work; epic, issue, link: belongs to, part
of, big piece of work, depends on, blocks, related to; backlog, sprint, issues: up next, this fortnight,
planned; attachment, download, get: file that came with, get what was attached, enclosed; page, search,
confluence: company knowledge, where did we write, docs about; space, list: areas of the wiki, sections of
the wiki; note, create, append: jot, diary, journal, scribble, thought, idea; note, search: where did i
write, wrote about; task, update, priority: urgent, postpone, put off, another day, important, push back,
more time; task, move, project: other list, section, shift; comment, add, task: leave a word, tell them on
the task; project, create: new undertaking, place for all the work, campaign; workspace, list: which places,
firms, accounts; file, share, permission: let see, give access, let them read, send link; drive, search,
files: where is the document, find my slides, in the cloud; sheet, values, update, append: put numbers,
write into cells, fill in, add a row; sheet, values, read: numbers in, what is in the cells, columns;
document, create: new letter, write-up, minutes, blank page; calendar, event, update, reschedule: move the
meeting, later, postpone, another time, push back, earlier; calendar, event, delete, cancel: call off, not
meeting, cancel the appointment, skip; attendees, event, invite: who comes, bring along, ask to come,
guests; message, search, history: who said, did anyone mention, find what was said; message, delete, edit:
take back what i said, typo in my post, unsend; guild, server, channel: community, gamers; tweet, post,
status: say to the world, followers, public; followers, following: who reads me, fans, audience; trending,
popular: everybody talks about, hot, hype, buzz, fashion; article, post, publish: blog, write to the public,
story; media, upload, image: photo on the site, put picture; product, list, search: what do we sell, goods,
shop, range, assortment; product, update, price: dearer, cheaper, cost more, sell for, raise the price;
order, get, details: what did they buy, purchase number, bought; order, cancel, refund: does not want, sent
back, return; customer, search, get: who is this buyer, shopper, look up a client, phoned, buyer's details;
payment, link, create: way to pay, let them pay, collect money, page to pay; payment, list, intents,
charges: who paid, what came in, money received, earnings, takings; invoice, create, finalize, send: ask for
money, bill them, what they owe; payout, transfer, balance: move money, to the bank, wire; account,
transactions: spent, what did i spend, expenses, statement, bank; quote, price, stock: how much is a share,
trading at, market value, worth; historical, prices: over the years, in the past, last year, ten years ago,
development; portfolio, positions, holdings: what do i own, my investments; email, template, send, batch:
many people, everyone on the list, mass, mailing; contact, list, audience, add: people who get our mails,
subscribers, mailing list; domain, verify, email: mails land in spam, prove, ours; contact, deal, associate:
belongs together, tie, connect to the sale; pipeline, deal, stage: further along, nearly won, how sales are
going; index, search, documents: full text, where in the data, find in everything; mapping, index, fields:
how it is organised, what kind of data, types; shards, cluster, health: is it well, is everything fine,
sick, nodes; key, value, set, get: remember under, what is stored as, little note; keys, list, scan:
everything stored, what names, all entries; key, expire, delete: forget, throw out after; node,
relationship, cypher, graph: who is connected, linked to, friends of friends; vector, collection, search,
embeddings: about the same, meaning, alike; tables, list: what kinds of things, sheets, what do we keep,
what data; table, describe, schema: how is it laid out, which columns, what is in it; sql, execute, query:
ask the database, look up in the tables, report from data, answer from the data; migration, apply: change
the database, roll the change out; branch, database, create: copy to play with, safe place to try, sandbox;
advisors, security, performance: weak spots, anything dangerous, improve; types, generate, typescript:
definitions for my code; edge, function, deploy: put my code online, small program in the cloud; workflow,
create, update: recipe of steps, automate, chain of actions; execution, list, get: which automations ran,
did it run, went through; collection, request, create: save a call, api calls together; mock, server: fake
api, pretend server, stand in; environment, create: settings for staging, set of variables; monitor, create,
run: check regularly, keep testing, every hour; spec, api, generate, schema: description of the interface,
contract; endpoint, operation, api: which calls, address of the service; lint, files, fix: mistakes in
style, untidy code, warnings in my code; component, get, add, registry: button, ready-made ui, widget, piece
of interface; example, demo, usage: show how it is done, sample, in practice, how others; generator,
schematics, scaffold: boilerplate, start a new app, skeleton; project, graph, dependencies: what depends,
how it fits together, affected; actor, run, scraper: ready-made robot, bot, robot; dataset, items, get: what
the robot brought, collected, results; session, create, start: begin, open a fresh, new one; chart, bar,
column: compare amounts, side by side, bars; chart, line, area: over time, development, curve, trend; chart,
pie: shares of the whole, slices, parts of; chart, map: on a map, by country; mind, map: ideas branch,
brainstorm, thoughts around; flow, diagram: steps, who does what, process; word, cloud: most used words,
words by size; static, map, image: picture of a map, show on a map; isochrone, matrix, travel: how far can i
get, within minutes, reachable; traffic, route: jam, fastest, avoid; matching, optimize, route: best order,
several stops, round trip; search, category, poi: any petrol station, coffee, pharmacy, chemist; timezone,
convert: what time over there, when it is noon, in tokyo; fetch, url, http: load that address, what is at
this link, call the address; transcript, video, captions: what do they say in the film, talk in words;
channel, video, list: what did they upload, clips by; lyrics, song: words of the song; playback, pause,
next: quiet, skip, louder, stop the music; queue, add, track: play after this, next song; definition,
dictionary, word: what does it mean, spelling; wikipedia, article, summary: encyclopedia, who was, history
of; paper, search, arxiv: who studied, science about, scientific; citation, references: who quotes, based
on, builds upon; thoughts, reasoning: think hard, mull over, consider carefully; health, ping, version: are
you there, alive, answer, awake, works at all, responding; login, auth, authenticate: sign in, identify, get
in, credentials; token, create, api: pass for a program, credential, ticket to get in; permissions, list,
members: who can see, who has access, who may; billing, cost, usage: what do we pay, expensive, spend, pay
for, money spent
`
