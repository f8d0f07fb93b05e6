import { ACTS } from './acts.js'
import { MORE_SAYINGS } from './more-sayings.js'
import { SAYINGS } from './sayings.js'
import { THINGS } from './things.js'
import { saysNothing, spokenOf, wordsOf } from './words.js'

/** Words and phrases that people use for each other when they speak of what tools do, in groups. */
const GROUPS = `
create, add, new, make, insert, generate, compose, produce, build; create, open, start, set up, provision,
spin up, launch, initialize, init; create, register, define, author, draft; add, append, attach, put,
include; delete, remove, erase, drop, destroy, discard, purge, trash, get rid, throw away, wipe; delete,
clear, unset, revoke, withdraw, take down, tear down, clean up, reset; list, get, show, all, enumerate,
browse, see, which, display, view; get, fetch, retrieve, read, load, look up, obtain, pull, access, grab,
check, show, see, view; get, describe, details, info, information, metadata, inspect, about; search, find,
query, look, lookup, locate, discover, hunt, seek, filter, match, grep; update, edit, change, modify, alter,
set, patch, adjust, revise, rewrite, amend, configure, tweak, correct; update, upgrade, bump, refresh,
renew; replace, overwrite, swap, substitute; send, post, publish, submit, deliver, dispatch, write, share,
emit; write, save, store, persist, record, put; run, execute, invoke, call, launch, trigger, perform, start,
fire, kick off; stop, cancel, abort, terminate, kill, halt, end, interrupt, shut, quit, exit; start, begin,
boot, resume, activate; restart, reboot, relaunch, rerun, retry, again, reload; pause, suspend, hold,
freeze, sleep, wait, delay; enable, activate, turn on, switch on, allow; disable, deactivate, turn off,
switch off, block, disallow; move, rename, relocate, transfer, shift; copy, duplicate, clone, fork,
replicate; merge, combine, join, unite, integrate, consolidate; split, divide, break; approve, accept,
confirm, grant; reject, decline, deny, dismiss, refuse; close, resolve, finish, complete, done, finalize;
undo, revert, rollback, roll back, restore, back out; compare, diff, difference, changed, delta; count,
total, number, many, sum, amount, quantity, aggregate; assign, allocate, delegate, give, owner, assignee,
responsible; invite, member, collaborator, teammate; subscribe, follow, watch, monitor, track, observe,
notify; upload, import, push, ingest; download, export, save, pull; convert, transform, translate, turn,
format, change; validate, check, verify, lint, test, audit; analyze, analysis, evaluate, assess, examine,
inspect, review, diagnose, investigate, insight; summarize, summary, overview, digest, brief, outline, tldr;
explain, describe, documentation, docs, help, guide, manual, reference; schedule, plan, book, reserve,
appointment, calendar, event, meeting; connect, link, attach, associate, relate, relation, relationship,
bind; disconnect, unlink, detach, separate; lock, protect, secure; sort, order, rank; scale, resize,
replicas, capacity, instances, bigger; deploy, deployment, release, ship, rollout, publish, put live;
install, setup, add; mark, flag, label, tag, categorize, annotate; comment, reply, respond, answer, note,
remark, feedback, discuss, discussion; message, text, chat, dm, direct message, conversation, thread, talk;
channel, room, group; email, mail, inbox, letter, gmail; user, person, people, account, profile, member,
who, contact; me, myself, current user, authenticated, whoami, logged; team, organization, org, company,
workspace, group; pull request, pr, merge request, mr, patch; issue, ticket, bug, problem, defect, story,
work item; task, todo, to do, reminder, action item, chore; repository, repo, project, codebase; branch,
ref, fork; commit, revision, changeset, history, version; file, document, doc, text, content, contents;
folder, directory, path, tree; code, source, script, program, snippet; function, method, procedure, routine,
lambda; error, exception, crash, failure, fault, stack trace, broken, wrong, fail, problem; log, logs,
output, trace, console, stderr; event, occurrence, incident, alert, alarm, outage; metric, statistic, stats,
measurement, usage, number, telemetry, performance; performance, speed, slow, fast, latency, benchmark,
lighthouse, profile; database, db, sql, datastore; table, relation, sheet, spreadsheet, grid, base; row,
record, entry, item, tuple, line; column, field, attribute, property, header; schema, structure, definition,
model, shape, layout; index, key; query, sql, select, statement; collection, set, bucket, group, container,
database; document, record, object, entity; page, webpage, website, site, web, url, link, web address;
browser, chrome, tab, window, page; navigate, go, visit, open, browse, goto; click, press, tap, push, hit,
button, select; type, enter, fill, input, key in, write, text; form, field, input, box; dropdown, select,
option, choose, pick, choice; hover, mouse, pointer, cursor; drag, drop, move; screenshot, snapshot,
capture, picture, image, screen; image, picture, photo, graphic, img, visual, illustration, icon; video,
movie, clip, film, footage; audio, sound, speech, voice, music, song; scroll, swipe, wheel; scrape, crawl,
extract, spider, harvest, parse; extract, pull out, parse, obtain; network, http, request, traffic, api
call; request, ask, demand; javascript, js, script, evaluate; cookie, session, storage; device, emulate,
mobile, phone, viewport; pod, container, workload; cluster, kubernetes, k8s, node; cluster, server, host,
machine, instance, vm, node; namespace, scope, environment; log, tail, output; shell, command, terminal,
bash, cli, console, exec, command line; process, program, running, job, pid; job, pipeline, build, workflow,
ci, run, action, task; workflow, automation, pipeline, action; queue, backlog, topic; secret, password,
credential, token, key, env variable; environment variable, config, configuration, setting, option,
preference, config var; permission, access, role, right, privilege, grant, allowed; login, sign in,
authenticate, auth, log in; customer, client, buyer, contact; payment, pay, charge, transaction, purchase,
checkout; money, balance, funds, amount, cash; invoice, bill, receipt; subscription, plan, membership,
recurring; refund, return money, give back, reimburse; price, cost, fee, rate, pricing, charge, expensive;
product, item, goods, sku, catalog; order, purchase, sale; coupon, discount, promotion, voucher; dispute,
chargeback; deal, opportunity, lead, prospect, sales; company, business, firm, organization; place,
location, address, spot, venue, restaurant, shop, nearby, poi; address, coordinates, geocode, latitude,
longitude; direction, route, path, way, navigation, travel, drive; distance, far, travel time, duration,
long; map, geography; weather, forecast, temperature, climate, rain; flight, trip, travel, hotel; time,
date, clock, hour, now, today, timezone, when; news, article, headline, story, press; paper, research,
publication, study, academic, arxiv, literature, journal; web search, internet, google, online, web; stock,
share, ticker, equity, market, finance; crypto, coin, bitcoin, token; chart, graph, plot, diagram,
visualize, draw; diagram, flowchart, mermaid, drawing, design; design, figma, mockup, component, prototype,
layer; memory, remember, recall, knowledge, memorize, keep in mind; entity, node, concept, thing;
observation, fact, note, knowledge; note, memo, notebook, page, jot; graph, network, relations, knowledge
base; thought, think, reasoning, reason, step by step, idea, sequential; block, paragraph, section, content;
child, sub, nested, under, inside; parent, above; reaction, emoji, thumbs up, like, smiley; star, favorite,
bookmark, like; pin, stick, top; archive, hide, old; draft, unpublished, pending; release, version, tag;
dependency, package, library, module, import; vulnerability, security, cve, weakness, advisory, hole,
unsafe, risk; security, scanning, alert, leak; test, spec, testing, flaky, check; coverage, covered; backup,
snapshot, dump, copy, save; migration, migrate, schema change; cache, temporary; size, big, space, large,
storage, disk, bytes, weight; limit, quota, rate; status, state, health, condition, progress, ongoing, up,
alive; latest, recent, last, newest, fresh, current; first, top, head, beginning; random, any; similar,
like, related, resemble, same; multiple, many, several, batch, bulk, various; language, translate,
translation, locale; domain, dns, hostname; certificate, ssl, tls, https; port, forward, tunnel, localhost;
webhook, callback, hook, notification; notification, notify, alert, unread, bell; template, boilerplate,
preset, scaffold, skeleton; feature, capability, tool, ability; flag, toggle, switch, feature flag;
milestone, deadline, due, target; sprint, iteration, cycle; board, kanban, column; project, initiative,
epic; dashboard, report, panel, chart; report, summary, statement; service, app, application, microservice;
app, application, software, program; addon, plugin, extension, add on; question, ask, faq; answer, solution,
fix, solve; fix, repair, solve, heal, autofix, seer; explore, browse, look around; regex, pattern,
expression, wildcard, glob; string, text, word; number, numeric, digit, integer; math, calculate, compute,
calculation, arithmetic, sum; pdf, document; html, markdown, markup; json, xml, yaml, data; data,
information, dataset, records; result, outcome, output; reference, mention, cite, link; author, creator,
wrote, owner, by; reviewer, review, approval, feedback; contributor, blame, author; lines, part, portion,
piece, excerpt, section, chunk; identifier, id, uuid, handle; name, title, called, named; permalink, url,
link; stage, stash, shelve, put aside; staged, index, git add; remote, origin, upstream; worktree, checkout,
switch; hierarchy, tree, nested, recursive; propose, suggest, submit, request, recommend; defect, bug,
issue, flaw; unsolved, open, unresolved, outstanding, pending; popular, star, trending, famous, top; touch,
change, modify, affect, edit; pass, succeed, green, success, check, status; happy, approve, agree,
satisfied, fine; developer, programmer, engineer, user, author; colleague, coworker, teammate, user, member,
staff, employee; tell, notify, send, inform, message, say, announce; room, channel, space; phone, contact,
profile, telephone, mobile; street, address, road; high, height, altitude, elevation, tall; look, view, see,
appearance, screenshot, inspect; look over, review, proofread; complain, error, warn, warning, console;
popup, dialog, alert, modal, prompt, confirm; sight, vision, blind, accessibility, a11y; search engine, seo,
google; pretend, emulate, simulate, fake, mock, act; slow, throttle, bad connection, offline; wiki, page,
document, knowledge base; paragraph, block, section, passage; overdue, late, due, deadline; collect, gather,
crawl, aggregate, harvest; finish, complete, done, status, ready, over; keep eye, monitor, watch, track;
know, remember, recall, knowledge, learn, memory; forget, delete, remove, unlearn; let know, notify, alert,
monitor; scientist, researcher, scholar, paper, research; swap, replace, exchange, substitute, edit; another
name, rename; sentence, text, line, phrase, wording; letter, document, file, text, mail; paper, document,
file; somewhere else, elsewhere, move, relocate; belong, parent, owner; movie, video, recording, film; film,
record, screencast, capture; tiny, small, little; repeat, echo, again; settings, configuration, environment,
option, preference; machine, device, computer, server, host, instance; take, grab, capture, get, acquire;
give, assign, grant, provide, set; put, add, insert, upload, create, write, place, set; bring, get, fetch,
restore; hand, assign, delegate; pick, choose, select; throw, delete, discard; keep, save, store, retain,
remember; grow, scale, increase, expand; shrink, reduce, decrease, compress, minify; hide, archive, conceal,
mute; arrange, sort, order, organize, schedule; gone, delete, missing, deleted; spend, cost, spending,
usage, expense, budget; sell, order, sale, sold; earn, revenue, income, balance, profit; owe, invoice, bill,
due, unpaid; sick, unhealthy, crash, error, down; heal, repair, fix, restart; die, crash, kill, terminate;
eat, consume, usage, use; visitor, user, traffic, visit, audience; reviews, rating, review, opinion;
country, region, locale; world, global, globe, map; town, city, place, village, location; mark, tag, label,
flag, status; glance, view, peek, preview, summary; printable, print, pdf; sheet, spreadsheet, workbook,
table, worksheet, excel; workbook, base, spreadsheet, document; line, row, record, entry; alter, change,
modify, edit, diff; copies, replicas, instances, scale; break, fail, failure, error, broken, crash;
intermittent, flaky, unstable, unreliable, sometimes; yesterday, previous, earlier, before, rollback;
production, deploy, live, deployment; happen, log, event, history, activity; activity, history, log, event,
feed, audit; disk, local, file, storage, clone, download; reach, connect, access, forward, ping; ping,
alive, health, reachable, heartbeat; mention, contain, include, match, search; hang, stuck, freeze,
unresponsive, kill; cpu, processor, memory, usage, process; binary, executable, program; compile, build,
make; tidy, clean, format, organize, prune; pretty, format, beautify, lint; preview, render, display, view;
empty, clear, truncate, flush, clean; expire, ttl, timeout, expiration; encrypt, secure, hash, cipher; sign,
signature, verify; bucket, s3, blob, storage; lambda, function, serverless; vm, instance, machine, server,
ec2, droplet; firewall, security group, rule; bandwidth, traffic, network, usage; quota, limit, usage; money
spent, cost, billing, usage; inventory, stock, quantity, availability; shipment, shipping, delivery,
fulfillment, parcel; cart, basket, checkout; survey, form, questionnaire, poll; vote, poll, like; attendee,
participant, guest, invitee; free, available, availability, busy; tomorrow, schedule, calendar, date; song,
track, music, playlist, play; recipe, food, meal, cooking; translate, language, localize; spell, grammar,
correct; tone, style, rewrite; embed, embedding, vector, semantic; prompt, template, instruction; llm,
model, ai, inference, gpt; train, fine tune, dataset, model; experiment, trial, test, variant; annotation,
label, comment, note; heading, title, header; footnote, reference, citation; slide, presentation, deck,
powerpoint; word, docx, document; zip, gzip, compress, archive, tar; unzip, decompress, extract; symlink,
link, shortcut; permission, chmod, mode, rights, allowed; hardware, device, gpu, cpu; broadcast, publish,
send, announce; inbox, unread, message, email; attachment, file, upload, image; spam, junk, trash; signup,
register, subscribe, join; join, enter, add, member; leave, exit, remove, unsubscribe; ban, block, kick,
remove; sender, author, from; receiver, recipient, to; birthday, date; duration, length, time, long; speed,
fast, performance, throughput; entire, whole, full, complete, everything, all
`

/** What a saying counts beside a word that means much the same. */
const SAYING = 0.8
/** So many words may stand between two of a phrase, and before one such as `off`: "turn all of it off". */
const BETWEEN = { words: 1, small: 3 }

/** Words by which a word may be met, and what each counts, up to 1. */
export type Kin = ReadonlyMap<string, number>

/** The words of a question, as `wordsOf` gives them, and what they may stand for. */
export interface Understood {
  /** Each word once, with those by which it may be met, alone or in a phrase. */
  readonly words: ReadonlyMap<string, Kin>
  /** The words that stand for each phrase of several. */
  readonly phrases: readonly Kin[]
}

/** What a word or phrase may stand for: words, each with all those that follow it in a phrase. */
interface Phrase {
  readonly rest: readonly string[]
  readonly kin: Kin
}

/** A group, or a line of sayings: what people say, and the words that it may stand for. */
interface Line {
  readonly said: readonly string[]
  /** Those that one may stand for; in a group all others. */
  readonly meant: (said: string) => readonly string[]
  readonly share: number
}

const linesOf = (): readonly Line[] => {
  const groups = GROUPS.split(';').map((group): Line => {
    const said = group.split(',')
    return { said, meant: one => said.flatMap(other => (other === one ? [] : wordsOf(other))), share: 1 }
  })
  const sayings = [SAYINGS, MORE_SAYINGS, ACTS, THINGS]
    .flatMap(text => text.split(';'))
    .map((line): Line => {
      const [meant = '', said = ''] = line.split(':')
      return { said: said.split(','), meant: () => wordsOf(meant), share: SAYING }
    })
  return [...groups, ...sayings]
}

/** Lines by the first words of what is said there: the rest is read when somebody says that. */
const byFirstWord = (): ReadonlyMap<string, readonly Line[]> => {
  const all = new Map<string, Line[]>()
  for (const line of linesOf()) {
    for (const said of line.said) {
      const [first = ''] = spokenOf(said, 1)
      const lines = all.get(first)
      if (lines === undefined) all.set(first, [line])
      else if (lines.at(-1) !== line) lines.push(line)
    }
  }
  return all
}

/** The phrases of lines that begin with a word. */
const phrasesIn = (lines: readonly Line[], first: string): readonly Phrase[] => {
  const all = new Map<string, { readonly rest: readonly string[]; readonly kin: Map<string, number> }>()
  for (const { said, meant, share } of lines) {
    for (const one of said) {
      const [own, ...rest] = spokenOf(one)
      if (own !== first || (rest.length === 0 && saysNothing(first))) continue
      const key = rest.join(' ')
      const { kin } = all.get(key) ?? { kin: new Map<string, number>() }
      for (const word of meant(one)) kin.set(word, Math.max(share, kin.get(word) ?? 0))
      all.set(key, { rest, kin })
    }
  }
  return [...all.values()]
}

let lines: ReturnType<typeof byFirstWord> | undefined
const known = new Map<string, readonly Phrase[]>()

/** All that people say with this word first. */
const phrasesFrom = (word: string): readonly Phrase[] => {
  lines ??= byFirstWord()
  const found = lines.get(word)
  if (found === undefined) return []
  const phrases = known.get(word) ?? phrasesIn(found, word)
  known.set(word, phrases)
  return phrases
}

/** What the words of a question may stand for. */
export const withKin = (question: string): Understood => {
  const said = spokenOf(question)
  const words = new Map(wordsOf(question).map(word => [word, new Map<string, number>()] as const))
  const found = new Map<string, Kin>()
  for (const [at, word] of said.entries()) {
    for (const { rest, kin } of phrasesFrom(word)) {
      if (!follows(said, at, rest)) continue
      const phrase = [word, ...rest]
      for (const each of phrase) addKin(words.get(each), each, kin)
      if (rest.length > 0) found.set(phrase.join(' '), kin)
    }
  }
  return { words, phrases: [...found.values()] }
}

const addKin = (known: Map<string, number> | undefined, word: string, kin: Kin): void => {
  for (const [other, share] of kin)
    if (other !== word) known?.set(other, Math.max(share, known.get(other) ?? 0))
}

/** Whether the rest of a phrase stands behind its first word, in its order. */
const follows = (said: readonly string[], first: number, rest: readonly string[]): boolean => {
  let at = first
  for (const word of rest) {
    const most = saysNothing(word) ? BETWEEN.small : BETWEEN.words
    const next = said.indexOf(word, at + 1)
    if (next < 0 || next - at - 1 > most) return false
    at = next
  }
  return true
}
