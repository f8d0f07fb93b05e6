/** The same as `SAYINGS`, for what charts, telephones, calendars, mail and the like are asked for. */
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
my work, my jobs, mine, assigned to me, own work; task, subtask, child: smaller piece, break down, split,
nested, below, part of a job, sub item; task, dependencies, dependency, blocked: cannot begin before,
prerequisite, predecessor, successor, waits for, waiting on, depends, comes after, first needs; task,
complete, status, update: finished, done, ready, tick off, over; task, delete, remove: nonsense, erase,
discard, get rid of, trash; task, story, comment, note: remark, said, discussion, feedback, reply, update;
task, due, date, deadline: by when, until when, late, overdue; task, assignee, assign, member: who does,
whose, responsible, hand over, give to; section, column, board, list: group, lane, swimlane, doing, stage,
card, stack, shift; project, status, update: progress report, how is it going, health, on track, weekly,
state of affairs; project, search, list: undertaking, initiative, programme, effort; tag, label, category:
sticker, keyword, colour, mark, classify, group, folder, drawer; tag, label, create: define, invent, new
kind, introduce; milestone, goal, objective, okr: aim, target, want to reach, ambition; event, create,
calendar: appointment, meeting, diary, schedule, book, date, put in, slot, arrange, entry, party, lunch,
dinner, dentist, fix a time; event, list, calendar: agenda, plans, what am i doing, upcoming, busy day,
schedule, what is on; event, delete, calendar: cancel, called off, fell through, strike, skip, drop, does
not happen; event, update, calendar: move, reschedule, postpone, shift, another time, later, bring forward;
event, respond, invitation: rsvp, accept, decline, maybe, will come, cannot come, attend, turn down; event,
recurring, repeat: every week, each monday, weekly, daily, regular; freebusy, availability, free, busy:
spare time, open slot, when can, hour to spare, have time, gap, is anybody free; calendar, list: diaries,
agendas, planners; time, zone, current: what time, clock, date today, which day; email, send, mail: letter,
write to, drop a line, compose, message to, mail somebody, let know in writing; email, draft: unsent,
prepare, hold, not send yet, later, unfinished, look over first; email, search, list: inbox, did they write,
letters from, correspondence, mailbox, find mail; email, read, get: open, what does it say, content of the
letter; email, delete, trash: throw out, adverts, junk, purge, get rid of, bin; email, modify, label, move:
archive, file, drawer, mark as read, unread, folder, sort; email, filter, rule: automatically, by itself,
skip inbox, sort incoming, whatever comes from, forward all; email, attachment, download: enclosed, came
with, pdf in the mail, save the file, attached; email, label, folder, create: drawer, compartment,
pigeonhole; email, thread, reply: answer, respond, write back, conversation, follow up; email, batch,
multiple, bulk: in one go, all these, many at once, mass; contact, object, search, crm: customer, client,
lead, prospect, buyer, person at, who do we know, company, deal; contact, object, create, crm: enter people,
met, add lead, new client, new deal, business card; contact, object, update, crm: new phone number, changed
job, correct; contact, property, field, list: what do we keep, attributes, what is known, columns;
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
use, standard, preset;
`
