/**
 * The same as `SAYINGS`, for what tools do, as people say it: also by words that say nothing alone, as `off`.
 */
export const ACTS = `
create, add, new: set up, put up, make up, think up, draw up, write up, put together, knock together, get
going, come up with, bring into being, open up, lay out, from scratch, brand new, one more, could do with,
make me, start a, found, invent, make room for, has to exist, does not exist yet; add, insert, append,
create: put in, put into, slip in, throw in, drop in, tack on, stick on, squeeze in, pop in, put down, slot
in, fit in, bring in, on the end, at the end, hang on to, put on, put under, pile on, top up with; delete,
remove: get rid of, throw away, throw out, chuck out, toss out, take off, take out, take away, clear out,
clean out, wipe out, wipe off, rub out, cross out, cut out, do away with, let go of, no longer need, need no
more, no use for, out of sight, vanish, disappear, kick out, weed out, off the, out of the way, pull down,
bin, flush, forever, for good, do not need, should go, must go, may go, has to go; clear, empty, reset,
clean: wipe, start over, blank, clean slate, from the beginning, sweep out, nothing left, tidy up, mop up,
clear away, back to normal, factory; update, edit, modify, change, patch: bring up to date, make it say,
turn into, put right, set right, fix up, touch up, spruce up, from now on, instead of, in place of, has a
new, got it wrong, put wrong, misspelt, spelling mistake, now be, should be, should say, should read, no
longer right, different now, moved house, make into, other than; replace, overwrite, update: put in place
of, swap out, exchange for, write over, instead, take the place of; rename, update, name, title: call it,
call this, another name, give a name, goes by, should be called, be known as, christen, new name, different
name, better name, under the name; get, retrieve, read, details: pull up, bring up, call up, dig out, dig
up, hand me, let me see, let me have, tell me about, tell me all, fill me in, what does, what do we know
about, look at, take a look, have a look, look into, look closer, all about, what was it, more about, in
full, everything about, particulars, ins and outs, what exactly, say about; list, all: what are, which are
there, which have we, what have we got, what do we have, what is there, how many are there, go through, run
through, run down, rundown, show me all, give me all, one by one, line up, all the, all my, all our, name
all, every single, each of, what sort of, what kinds of, to choose from, on offer, at hand, pick from, what
there is, everything that, everything in; search, find, lookup: look up, look for, looking for, hunt for,
hunt down, track down, go looking, go through, dig for, dig through, dig out, ask around, look around, comb
through, root out, come across, get hold of, lay hands on, where did i, where is, where was, where have i,
somewhere in, cannot find, lost track, is there any, is there something, do we have any, have we any,
anything on, anything with, say anything, that deal with, having to do with, who mentions, remember seeing,
whatever it was, with the word, that talk about, to do with, concerning, regarding; write, save, store: put
down, jot down, set down, get down, note down, take down, put on paper, keep for, hold on to, save for
later, put away, stow, lay down, hang on to, keep this, keep that; read, view, open, content: what does it
say, what it says, what is written, written in, stands in, what stands, go over, look inside, have a read,
read out, word for word, wording, in there, in it, inside; send, post, message, publish: drop a line, drop a
note, shoot off, fire off, get word to, pass on, pass along, let them know, let everyone know, let the team
know, let people know, give a shout, put out, put up, send off, send out, send over, get in touch, reach
out, tell everybody, tell everyone, tell the team, tell the others, tell them, say hello, say to, write to,
write back, spread the word, pop over; reply, respond, comment, thread: write back, get back to, answer
back, come back to, respond to, talk back, chime in, weigh in, have my say, say something about, say under,
leave a note, leave a word, leave a remark, add my, two cents, put my view, tell what i think, say that i,
note on, remark on, below it, underneath; move, transfer, relocate: put elsewhere, put somewhere else, shift
over, bring over, take over to, carry over, push over, put under, put into, slide over, hand over, drag
over, send over to, place under, belongs in, belongs under, goes into, goes under, goes to, should live,
should be in, to the next, into another, into the, over to; copy, duplicate, clone: one just like, same
again, second one, a double, make another, twin, the same as, exactly like, one more like, own copy, carbon
copy, do the same for, use it again; run, execute, start, trigger, launch: set off, set going, get going,
kick off, fire up, start up, go ahead, let it run, get it running, let rip, make it go, give it a go, set in
motion, off it goes, right now, do it now, by hand; stop, cancel, terminate, kill, abort, end: call off, put
an end to, cut short, break off, knock off, shut down, shut off, switch off, turn off, pull the plug, leave
off, give up, never mind, bring to a halt, enough of, hold it, cut off, does not stop, will not stop, no
more of, has run long enough, let it be; start, launch, open, boot: turn on, switch on, power on, power up,
fire up, start up, bring up, get going, get running, wake up, open up, get up; restart, rerun, retry,
relaunch: turn off and on, off and on, off and on again, once more, one more time, another go, another try,
another chance, try again, run again, start again, do over, from the top, start over, bring back up, again;
pause, suspend: put on hold, hold off, hold back, take a break, stop for now, for a while, not now, let
rest, for the time being; resume, continue, reactivate, activate: carry on, go on, pick up where, take up
again, get back to, back on, keep going, where we left off, wake up; enable, activate, toggle, update: turn
on, turned on, switch on, switched on, flip on, make available, let people use, let have, open to, give to
everybody, for everyone, go live, bring on, flick on, opened for; disable, deactivate, toggle, update: turn
off, turned off, switch off, switched off, flip off, shut off, take offline, close to, nobody gets, hide
from, for nobody, out of action, flick off; upload, attach, file: put up, send up, hand in, hand over, pass
in, put on the site, give the page, give the form, from my computer, from my disk, from my machine, stick
to, pin to, clip to, go with it, goes with it, comes with it, send along, hang on; download, save, export,
get: take home, take with me, take along, get onto my, bring down, get down, pull down, keep a copy, have a
copy, put on my disk, onto my disk, onto my machine, onto my computer, to my computer, get hold of the file,
take out of, locally, offline; export, dump, backup: take out, take everything out, get everything out,
carry off, in case, safe copy, save a copy, keep safe, just in case, safety; import, load, ingest, upsert:
bring in, bring over, take in, take over, pull in, feed in, feed with, pour in, read in, fill with, teach;
open, navigate, url, page: go to, head to, head over, bring me to, take me to, get me to, pull up, call up,
go over to, surf to, pay a visit, look at the site, walk to, show me the site, type the address, drop in at;
close, end: shut, shut down, close down, wind up, wrap up, done with, be done, finished with, put away,
leave, get out of, not need the; close, complete, resolve, update, status: wrap up, be done, is done, got
done, tick off, cross off, check off, put a tick, strike off, mark as done, over with, out of the way, dealt
with, taken care of, taken care, finished, got it done, did it, have done, sorted out, put to bed, off my
list, off the list, put to rest, settle; reopen, restore, open: bring back, not done after all, not finished
after all, back again, come back, was wrong to close, still not done, put back on, not over, not solved
after all; connect, link, associate, join: hook up, tie to, tie together, belongs to, belong together, goes
with, go together, put in touch, bring together, have to do with, plug in, wire up, get on to, log on to,
hang together, pair; disconnect, unlink, remove: unplug, unhook, hang up, cut loose, cut off, tear apart,
take apart, have nothing to do, leave the, go away from, split up, no longer belong, separate; check,
validate, verify, test: make sure, look over, go over, see whether, see if, try out, is it all right, is it
ok, is it right, any good, hold water, any mistakes, did i get right, does it work, will it work, would it
work, is there anything wrong, double check, spell out, find fault, put to the test; wait, delay: hold on,
hold your horses, hang on, until it, till it, sit tight, give it time, take a breath, not before, let it
finish, be patient, till something shows up, shows up, turns up, gets there, pops up; undo, revert, restore,
reset, rollback: put back, take back, go back, get back, bring back, turn back, roll back, back out, back
to, back to how, the way it was, as it was, how it was, before i, used to be, was before, call back, throw
away what i, forget what i, never happened, start over, wind back, give up what, was fine before, worked
before, before it broke, earlier state, old state, clock back, last good, take it back; compare, diff,
difference: set against, hold against, next to each other, side by side, what is new, has changed, what
changed, is not the same, between these, between the two, one and the other, what did i change, what have i,
what is different, since then, since last; count, number, total: how many, how much, how big, number of, add
up to, all in all, in all, altogether, how often; sum, aggregate, average, total: add up, add together, put
together, work out, all in all, take together, in all, per head, by month, by year, for each, per, boil
down, on the whole, of each kind, plus; sort, order, rank, position: put in order, put in line, line up,
which comes first, best first, worst first, newest first, on top, to the top, at the top, to the bottom,
further up, further down, in what order, before the others, top of the pile; assign, assignee, member,
owner: hand over, hand to, give to, put on, put in charge, in charge, take on, take over, take care of, look
after, responsible for, whose job, whose turn, pass to, give the job, let do, up to, get to do, have to do
it, should do, sit down to it, who is to, work on it, see to; unassign, remove, member: take off, off the
hook, not his job, not her job, let off, no longer in charge, relieve; invite, add, member: let in, bring
in, bring along, bring on board, take on board, ask along, get on board, join us, has joined, new colleague,
new hire, newcomer, new person, has to get in, give a key; approve, accept, review, merge: say yes, give the
go ahead, go ahead, green light, wave through, sign off, let through, let pass, fine by me, looks good, all
right with me, agree to, nod through, give my blessing, ok with; reject, decline, deny: say no, turn down,
turn away, send back, will not do, not good enough, knock back, no thanks, cannot come, not coming, do not
agree, do not like, want something changed; schedule, plan, create, event: fix a time, fix a date, set a
time, find a time, put down for, pencil in, put in the diary, in my diary, line up, get together, sit down
with, see each other, make a date, arrange, set aside time, block time, keep free; postpone, reschedule,
update, due: put off, push back, push out, put back, hold over, leave till, leave for, another day, another
time, some other time, next week instead, move to, bring forward, later than, not today, need more time,
give me more time, too soon, too early; share, permission, access: let see, let them see, let look at, let
into, let have, show to, give access, open to, open up to, who can see, who may see, who can get at, who
gets to, allow to see, hand round, pass round, for everybody to see; subscribe, watch, follow, monitor: keep
an eye on, keep eye, keep me posted, keep me up to date, keep up with, keep track of, tell me when, let me
know when, let me know if, let me know about, hear about, look out for, watch out for, stay on top, in the
loop, be told, want to be told, whenever something, every time it, changes on; unsubscribe, unwatch,
unfollow: leave me alone, stop telling, stop bothering, stop sending, hear no more, do not want to hear, out
of the loop, shut up, mute, too many messages; convert, transform, format: turn into, make into, change
into, put into, as a, into a, from one into; analyze, insights, review, explain: look into, look closely,
get to the bottom, go into, make sense of, what is going on, what does it mean, what to make of, pick apart,
take apart, find out why, what lies behind, think about, dig into, what is behind, what went wrong, why is
it, why does it, why did it, where does it come from; summarize, summary, overview: sum up, boil down, in
short, in a nutshell, in a few words, in brief, long story short, main points, wrap up, give me the gist,
bottom line, at a glance, broad picture, big picture, all in all, where do we stand; explain, describe,
help, docs: how does it, how do i, how do you, how to, how is it used, what is it for, what can it do, what
can you do, what is meant, what may i, show me how, tell me how, read up on, learn how, look up how, not
know how, clear up, instruction, walk me through, get the hang, rules; install, add, setup: put on, get on,
set up, get onto, load onto, fetch onto, get it working, put in, make ready; uninstall, remove: take off,
get off, throw off, get rid of, kick off, clean off, never again, away with; deploy, apply, release,
publish: put live, go live, bring live, bring out, roll out, put out, ship, push out, push to, out the door,
for the users, to the world, into effect, take effect, make it so, put up, out there; build, compile: put
together, make the program, does it compile, turn into a program, make ready to run, get an app out of,
translate the source, cook; login, authenticate, auth: sign in, log in, log on, get in, let me in, sign on,
get into, say who i am, prove who; logout, disconnect, session: sign out, log out, log off, get out;
register, create, account, customer: sign up, sign on, enrol, enter as; set, default, config, preference:
from now on, always use, next time, unless i say, keep using, settle on, remember to use, stick to, as
usual, make it the, work with, i always, by itself, behave, act on, mostly use; show, current, active,
default: right now, at the moment, which one am i, where am i, at present, we are on, on which, currently,
using now, have i got, what did i set, is it set; switch, select, use, active: go over to, change over,
change to, swap to, move over, hop to, jump to, flip to, turn to, go with, work on, work in, over to,
another one, other one, the other; feedback, rate, review: how was it, tell the makers, tell them what, tell
what i think, was no good, was useful, any good, did it help, thumbs up, thumbs down, make a complaint, say
thanks, like it, useless results, opinion; generate, create: come up with, draw me, make me, make up, put
together, spit out, turn out, knock up, whip up; debug, diagnose, troubleshoot: go wrong, went wrong, goes
wrong, broke down, break down, fall over, fell over, falls over, blow up, blew up, act up, acting up, play
up, not working, stopped working, does not work, will not work, cannot get it, out of order, on the blink,
hang up, seize up, trouble with; calculate, compute, evaluate: work out, figure out, come to, makes in all,
find out how much; join, merge, combine, concatenate: bring together, put together, into one, make one of,
roll into, melt; split, divide: break up, take apart, break down, cut up, in two, into parts, smaller bits,
smaller pieces, in pieces, chop; scale, replicas, resize: more of them, fewer of them, more copies, a few
more, not enough of, ramp up, step up, beef up, cut down, cut back, turn up, turn down, blow up to, bigger,
smaller, cope with, stand the rush, more visitors, five of; drain, cordon, maintenance: take out of service,
out of service, no new work, repairs, get off that machine, taken down for; apply, commit, save: make it
stick, make permanent, make it so, put in place, keep what i, seal, put on record, nail down, record what i
did; lock, protect, block: keep out, shut out, nobody may, hands off, close off, keep from, bar from, not
let, forbid; unlock, allow, unblock: let in, let back in, may again, open again, clear the way; expire, ttl,
timeout: run out, after an hour, only for a while, for a day, forget after, self destruct, how long will it,
lasts, live on; publish, subscribe, channel, pubsub: shout out, listen in, listen to, whoever is listening;
push, publish, upload: send up, bring up, hand in, get up there, hand my work, give to the others, onto the
server, to the others, so others can, share what i did; pull, fetch, sync: bring down, get down, catch up,
up to date, what others, the others did, the others have, latest from, newest from, other people, get level,
meanwhile; stash: put aside, lay aside, set aside, put away for now, out of the way for now, come back to
it, half finished, half done, park; pick, cherry: just this one, only that one, just the one, take over one,
from the other branch; toggle, flag, feature: turn on, turn off, switch on, switch off, turned on, turned
off, half the users, some of the users, a few users, part of the users, only some people, slowly let, behind
a switch; hover: point at, hold over, move over without, rest on, go over with, hang over, without pressing;
click, tap, press: push, hit, poke, touch, press on, push on, hit on, tap on, knock on, use the button;
type, fill, text, input, enter: write into, put in, put my, key in, fill in, fill out, tell it my, type in,
punch in, enter my, write my, give my, letter by letter; select, option, dropdown: choose from, pick out,
pick from, go for, go with, settle for, out of the menu, from the list, single out; drag, drop: pull over,
move by hand, carry over, slide over, haul, with the mouse held; scroll, swipe: go down, go up, further
down, further up, move down, down the page, lower down, to the bottom, wipe across, flick through, next
screen, leaf through, more of the page; screenshot, capture, snapshot: snap a picture, take a picture, take
a photo, take a photograph, picture of, photo of, shot of, see what it looks like, what does it look like,
how does it look, what it looks like, show me what, let me see what, what do you see, shows on, what is on
the, look like right now; record, video, screencast, capture: film, shoot, make a film, make a movie, moving
pictures, on tape, put on tape, tape what, catch on video, while i, as it happens; back, navigate, previous:
go back, step back, where i came from, where i was, page before, last page, one back, return to, the one
before; forward, navigate, next: go on, one further, go ahead, next page, one forward; reload, refresh,
navigate: load again, once again, freshly, renew; resize, viewport, window, size: as small as, as big as, as
wide as, make smaller, make bigger, make narrow, on a small screen, on a big screen, fits on, shrink;
emulate, simulate, throttle: pretend to be, act like, act as if, as though, make believe, make it think,
think it is, behave like, play, as on a, bad line, slow line, weak signal, in the dark, on the train;
translate, language: put into english, say in, what does it mean in, in german, in french, other tongue;
think, sequential, reason: think through, think over, think hard, work through, puzzle over, mull over, chew
on, one thing at a time, step by step, one by one, piece by piece, bit by bit, change my mind, take stock,
hard nut, tricky; remember, memory, store, entities: keep in mind, bear in mind, not forget, never forget,
should know, you should know, make a note, learn that, note that, hold on to, mark my words; forget, delete,
memory: need not know, wipe from, not true any more, not true, no longer true, out of your head, out of mind
`
