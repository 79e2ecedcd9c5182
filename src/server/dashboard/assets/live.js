// Keeps a page current: when the server says that something changed, the page is fetched again, and the parts that differ are replaced.

/** Markup as the server sent it: what this script changed since does not count. */
const sent = new WeakMap();
const parts = (root) => [...root.querySelectorAll('[data-live]')];
for (const part of parts(document)) sent.set(part, part.innerHTML);

const scrolling = '.scroll, .log';
const focusable = 'a, button, input, select, summary, [tabindex]';
/** Within a line of its end. */
const isAtEnd = (each) => each.scrollHeight - each.scrollTop - each.clientHeight < 40;

/** Replaces a part, but keeps opened details, scroll positions (a log stays at its end) and the focus. */
function replace(part, fresh) {
  const opened = [...part.querySelectorAll('details')].map((each) => each.open);
  const scrolled = [...part.querySelectorAll(scrolling)].map((each) => [
    each.scrollLeft,
    isAtEnd(each) ? Number.MAX_SAFE_INTEGER : each.scrollTop,
  ]);
  const focused = [...part.querySelectorAll(focusable)].indexOf(document.activeElement);
  part.replaceChildren(...fresh.childNodes);
  part.querySelectorAll('details').forEach((each, at) => {
    each.open = opened[at] ?? each.open;
  });
  part.querySelectorAll(scrolling).forEach((each, at) => {
    each.scrollTo(...(scrolled[at] ?? [0, 0]));
  });
  if (focused >= 0) part.querySelectorAll(focusable)[focused]?.focus({ preventScroll: true });
}

async function refresh() {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const fresh = parts(page);
  const shown = parts(document);
  // Other parts: the session is over, or a request became a run.
  if (shown.map((each) => each.id).join() !== fresh.map((each) => each.id).join()) return location.reload();
  shown.forEach((part, at) => {
    const text = fresh[at].innerHTML;
    if (text === sent.get(part)) return;
    sent.set(part, text);
    replace(part, fresh[at]);
  });
}

const updated = document.getElementById('updated');
let last;
let looks = 0;

async function follow() {
  if (!document.hidden) {
    try {
      const answer = await fetch('/changes');
      if (answer.status === 401) return location.reload();
      if (!answer.ok) throw new Error('the warehouse does not answer');
      const token = await answer.text();
      // An active run changes all the time, and every minute the ages on a page are out of date.
      looks += 1;
      if (token !== last || looks % 30 === 0 || document.querySelector('[data-going]')) await refresh();
      last = token;
      updated.textContent = `live, as of ${new Date().toISOString().slice(11, 19)}`;
    } catch (error) {
      updated.textContent = `not current: ${error.message}`;
    }
  }
  setTimeout(follow, 2000);
}

for (const log of document.querySelectorAll('.log')) log.scrollTop = log.scrollHeight;
follow();
