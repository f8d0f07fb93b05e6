import t from 'tap'
import {
  claimsModern,
  isBeforeModern,
  isModernRevision,
  MODERN_REVISIONS,
  SUPPORTED_LEGACY,
} from '../../../src/eras/shared/protocol.js'

t.test('what we speak is offered from the newest to the oldest', async t => {
  t.same(
    [MODERN_REVISIONS, SUPPORTED_LEGACY],
    [['2026-07-28'], ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']],
  )
})

t.test('versions are compared by date; anything other than a date counts as newer', async t => {
  t.same(['2026-07-28', '2026-07-29', '2025-11-25', 'DRAFT'].map(isModernRevision), [
    true,
    false,
    false,
    false,
  ])
  t.same(['2024-10-07', '2025-11-25', '2026-07-28', 'DRAFT', ''].map(isBeforeModern), [
    true,
    true,
    false,
    false,
    false,
  ])
})

t.test('a header means the modern era if any of its values does', async t => {
  const headers = ['2026-07-28', ' 2027-01-01\t', '2025-11-25, 2026-07-28', '2025-11-25', 'DRAFT', '']
  t.same(headers.map(claimsModern), [true, true, true, false, false, false])
})
