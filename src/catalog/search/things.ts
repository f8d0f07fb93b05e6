/** The same as `SAYINGS`, for what tools of work are about, and what people have in mind who need them. */
export const THINGS = `
issue, ticket, bug: what is broken, something broken, broken, does not work, problem, trouble, complaint,
fault, glitch, misbehaves, to be fixed, needs fixing, wish, request from a user, story, work item, matter;
issue, list, assigned: what am i meant to, what should i work on, on my plate, waiting for me, my jobs, left
to do, mine, piled up; label, tag, category: sticker, mark, marked, keyword, colour, colored, sort under,
file under, drawer, heading, word on it, red, green, blue, yellow; milestone, sprint, iteration, cycle:
goal, stage, next two weeks, this fortnight, fortnight, by when, round of work; pull, request, merge:
proposal, proposed, suggestion, what was suggested, contribution, work waiting, work of a colleague, handed
in, waits to go in, my changes, their changes, before it goes in; pull, request, files, diff, changes: what
would change, what is touched, what did they touch, touched by, altered in; pull, request, review, comments:
what people think of, what did they say about my, criticism, objections, remarks on, find fault, look at my
work, verdict, opinion on; pull, request, status, checks: can it go in, ready to go in, all green, passed,
tests pass; branch, create: line of work, side line, own line, try without harm, on the side, separate,
apart from, off the main, playground; branch, list, switch: lines of work, what else is being worked, other
line; commit, log, history: who did what, who changed what, what happened to, what has happened, what has
been done, past changes, until now, over time, who touched, when was it last, lately, recently, last week,
last changes, saved states, saves; blame, annotate: who wrote, who is to blame, whose fault, whose idea, who
put, line by line, written by, last touched; repository, project: codebase, code of, source of, our code,
program, software, whole project, open source, library that; repository, create, init: place for my code,
home for my code, keep versions, new project, put under version; clone, repository: get the whole, copy of
the whole, get the code, code onto, down to my; fork, repository: my own copy, own version, somebody else's,
under my name, take over a project; remote, origin: where does it live, where it lives, where is it kept,
other end, on the server; tag, release, version: give a number, name this state, mark this, stamp, one
point, numbered; worktree: second folder, two at once, next to it, another folder of; status, working,
changes: forgot to save, not saved, not yet saved, lying around, left over, where do things stand, anything
open, anything new; file, document: paper, papers, letter, text, notes, report, poem, essay, readme, script,
thesis, invoice, recipe, spreadsheet, cv, contract, story, list of, draft, diary; file, metadata, info: how
big, how old, when was it, last touched, who owns, size of, touched last; directory, folder: place for,
drawer, downloads, my disk, on my disk, on my computer, my documents, my papers, where i keep, where things
are, inside of; directory, tree: nested, how it is all laid out, laid out, everything below, with everything
in it, levels, inside each other, all the way down; directory, create: make room, new drawer, new place,
place to put; search, files, content: in which of my, which file, which of my, where did i write, mention,
where do i keep, what did i call; code, search: where in the code, where do we use, where is it used, who
calls, program text, in the source; process, command, terminal: program, script, app, task, software,
running on, on my machine, on my computer, shell, black window, prompt, type at, job; process, list: what is
running, what runs, what is going on, slow computer, eats, hogging, hogs, busy with, using up, takes all
the, working so hard, fan; process, kill, terminate: frozen, stuck, hang, hangs, does not answer, no longer
answers, went mad, run away, will not die; process, output: what did it print, has it printed, so far, said
anything, come out, what came out, anything new from; logs: what happened, what did it say, what did it
print, what was printed, last words, messages of, wrote down, trail, printed before, from inside, grumble,
complain, why it died, why did it die; error, exception, issue, event: crash, crashed, went wrong, broke,
fell over, blow up, users run into, people hit, trouble in production, died, failing, hit by, ran into;
stack, trace, details: where in the code, which line, in what place; root, cause, analyze: why, reason for,
how come, culprit, what is behind; test, tests: checks, does everything still work, pass, fail, exam, proof,
still hold; test, flaky: now and then, sometimes fail, sometimes pass, on and off, not always, luck,
unreliable, depends on the weather; test, results: which ones failed, went through, came out, how many
passed, what failed; coverage: how much is tested, untested, tested at all, never tested, covered, checked
by tests; pipeline, build, ci, workflow: is it green, main line, went red, gone red, red, green, checks,
automatic checks, does it still compile, the machine that builds; pipeline, job, logs, failure: why did it
fail, why is it red, what broke, broke the build, went red; artifact, artifacts: what came out, files that
the build, results of the build, finished program, product of, by the build left; deployment, release,
version: what went out, what went live, what is live, out there, shipped, in production, live now,
yesterday's, last good; usage, credits, resource: how much did we use, how much have we, too big, paying too
much, idle, barely used, not needed size, spent; message, chat: text, note, word, news, what was said, what
did i miss, talk; channel, conversation, room: chat room, chat rooms, place to talk, where people talk,
group, groups, team chat, corner, rooms; channel, history, messages: what was said, been said, what did they
say, talked about, been talking, discussed, what did i miss, catch up, while i was away, lately, been going
on, read up, earlier today, last few things; thread, replies: what did people answer, answers to,
conversation below, what came back, underneath, in answer to; reaction, emoji: thumbs up, smiley, heart,
like, little face, funny face, clap, hooray, party; user, users, member, people: who is on, who is in, who
works, who belongs, who is here, who is there, who all, colleague, colleagues, staff, everybody, everyone,
anyone, folks, somebody, someone, team mates, humans, persons, name and, people here; user, profile,
details: who is that, who is this, who is she, who is he, about this person, what does she do, what does he
do, phone number of, how do i reach, job title, how can i reach; self, me, user, whoami: who am i, my own,
my name, my account, which account, signed in as, known as, as whom, under what name; permission, role,
access: who may, who is allowed, who can, what may i, allowed to, rights, key to; team, teams, group: who
works together, department, our people, squad, crew, lot of us; organization, workspace, company: firm,
business, employer, outfit, companies we, all of us, which firms; event, calendar: meeting, appointment,
lunch, dinner, party, dentist, doctor, birthday, date, talk with, coffee with, diary, visit, breakfast, get
together, wedding, concert, when do i meet, holiday, trip; event, list, calendar: what is on, what have i
got on, my day, what is planned, today, tomorrow, this week, next week, weekend, on friday, on monday,
agenda, plans, anything on, what do i have, what am i doing, where do i have to be; event, respond,
invitation: will be there, i will come, can make it, cannot make it, coming, not coming, will attend, tell
them i come, count me in, say yes, say no, accept; freebusy, availability, free: when is, has time, have
time, time for, are we both, are both of us, all of us, suit, gap, spare, busy, spare hour, anybody free,
fit in; calendar, calendars: diary, diaries, planner, agenda, family, which diaries; time, current,
timezone: what time, how late, o clock, clock, what day, date today, over there, hour, late is it; color,
colors: colour, colours, red, green, paint, shade, hue; account, accounts, manage: which address, another
mailbox, second address, private and work, log in with another; email, mail, inbox: letter, letters, post,
mailbox, write to, wrote to me, got from, from the bank, from my, from anna, came in, newsletter,
correspondence; email, send: drop a line, write to, letter to, send word, tell by mail, answer to; email,
draft: not send yet, do not send, unsent, get ready, prepare, look over it first, later send, finish later,
half written; email, delete, trash: adverts, junk, spam, rubbish, throw out, ads; email, modify, label,
archive: read already, mark as read, unread, put away, out of my inbox, sort away, tidy my inbox, important,
under the heading; email, search, find: did she write, did he write, did they write, has written, ever
write, any word from, anything from, about the, old letter; filter, rule, email: by itself, by themselves,
automatically, whatever comes from, everything from, as soon as, each time one comes, straight into, never
see, every mail from; filter, list, rules: what happens to my, which rules, where does my mail go;
attachment, download, file: came with, was enclosed, enclosed, the pdf from, hung on, the picture in, that
she sent, that he sent, they sent along; task, todo: to do, chore, job, errand, piece of work, work item,
must not forget, have to, needs doing, remind me, reminder, buy milk, shopping, something to do, thing to
do, must remember, has to be done, assignment; task, list, my: what do i have to do, left to do, what is
left, what is still, my jobs, on my plate, what should i do, still open, due today, what now, waiting for
me, have i still, list of chores, must i do; task, completed, done: what have i got done, what did i get
done, already done, finished last, what did we finish, got through, achieved; task, subtask, child: smaller,
pieces, part of, parts of a, steps of, break down, below it, what makes up, belongs to the bigger, bits;
task, parent: belongs under, part of the bigger, under another, bigger one, below; task, dependencies,
dependency: cannot begin before, cannot start before, cannot start until, has to wait for, wait until, waits
on, comes first, first needs, needs to be done before, held up by, has to come before, until after; task,
due, date, deadline: by when, till when, until friday, before friday, by friday, by tomorrow, late, too
late, behind, running late, last day; task, priority: urgent, burning, comes first, most important, can
wait; task, story, comment, activity: what was said, what happened with, how did it come to, talk about,
said about, remark, history of the talk; section, column, list, board: doing, to the next stage, stage, part
of the project, group of, lane, stack, pile, pillar, step; card, cards: slip, sticky note, note on the
board, piece of paper, job, item on the board; card, archive: put away, off the board, no longer show, hide,
out of sight; board, boards: wall, pin board, overview of the work, walls, planning wall; checklist, item,
items: little steps, small steps, tick off, tick box, boxes to tick, points, packing list, steps to do, box,
point on the list, what is left to tick, conditions, tick; acceptance, criteria: when is it done, what must
it do, conditions, counts as done, is it good enough; collaborators, members, board: who works with me, who
else, who is in on it, who can work, share it with, who takes part, team on; project, create: undertaking,
new place for, something bigger, campaign, new plan; project, status, update: how is it going, on track,
getting on, state of affairs, in trouble, how far along, report how, weekly, tell how we are doing, word on
how; project, list, projects: what are we working on, undertakings, what is going on, plans, everything we
do; goal, objective: aim, target, what we want; custom, field, fields: extra box, extra information, own
box, extra line, additional; activity, recent, history, audit: who did what, what happened, what has been
going on, lately, what went on, since yesterday, who has changed, what have people, while i was; contact,
customer, crm: client, person we, people we, buyer, somebody we met, met at, business card, who do we know,
address book, woman from, man from, shopper, prospect, acquaintance; company, crm: firm, business, employer,
outfit, house; deal, opportunity: sale, business with, contract with, about to sell, order we hope, chances
of, may buy; engagement, note, call, meeting: phone call, spoke with, talked with, called her, called him,
met with, what the customer said, wrote down what, conversation with, on the phone, rang; association,
associations, relate: works at, works for, belongs to, tie, goes with, is part of, who goes with; property,
properties, field: what do we keep, what do we know, kind of information, one more thing, keep about,
birthday; record, row, rows, item: line, lines, entry, entries, customer, supplier, order, person, book,
address, note down in the table, spreadsheet rows, put down in the, people in the; table, database, sheet:
spreadsheet, list of, register, book of, catalogue, card index, sheets, lists, where do we keep, what do we
keep; field, column: birthday, one more thing about, extra, information about, another thing, kind of value;
schema, describe, structure: what columns, which columns, how is it laid out, how is it built, what shape,
looks like inside, made up of, what is in it, what do the, kind of things, kinds of things, what sort of
data, laid out; query, sql, select: how many customers, according to, out of the tables, numbers from, ask
the, question to the, answer from, which of our, who bought, from our data, best customers, who has, this
month, last year, over eighteen; aggregate, group, sum: per country, per month, per customer, by country,
average, on average, each city, in every, mean, top ten; index, create, indexes: takes ages, takes too long,
faster, quicker, speed up, slow, looking up takes; explain, query, plan: why so slow, why does it take, how
does it find, how would the, what does the database do; collection, drop, table: whole lot, whole set, with
everything in it, all of it, lock stock; count, documents: how many are there, how many of, how many do we;
storage, size, stats: how much room, how much space, how full, how big, takes up, room is left, heavy, how
large; backup, restore: safe copy, in case it breaks, bring back yesterday's, lost data; migration, apply:
change the tables, change the shape, bring the tables, alter how; vector, similar, embedding, search: about
the same, close to this, like this one, means the same, same meaning, alike, comes close, like this text,
akin; rerank, rank: best first, which fits best, put the best, in order of how well; upsert, insert,
records: feed, put these texts, teach, learn these; namespace, context, environment: test cluster, other
cluster, somewhere else, staging, production, stage, live system; pod, container, service: app, box,
program, workload, machine room, backend, server, instance, thing that serves, little machines; pod, list,
get: what runs, which run, are alive, still running, is everything up, in the cluster, all well; pod, exec:
inside, look around in, go in, step into, have a look inside, get into, from within; describe, resource: why
will it not start, does not start, what is wrong with, closer look at, tell me everything about, ins and
outs; port, forward: reach from here, get at from, on my own machine, through to, as if it were here, see it
on my laptop, bring it to my; node, nodes: machine, machines, computer in the cluster, server, hardware;
helm, chart, install: ready made, whole package, package from, set it up in the cluster, bundle; cluster,
connection, ping: there at all, reach, are you there, alive, reachable, answer; secret, password,
credential: key, login details, access data, secret word, how to log in, hide, sensitive, safe place;
environment, variable, env, config: settings of the app, app is told, what it starts with, setting;
instance, server, machine: computer, box, rent a, in the cloud, host; function, edge, lambda: small program,
code online, my code in the cloud; domain, dns: address, name on the web, our own address, www, our name
`
