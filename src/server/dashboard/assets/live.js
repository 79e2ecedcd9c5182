// Keeps a page true: when the server says that something changed, the page is fetched again, and the parts that differ are put in place.

const ages = [
  [60, 1, 's'],
  [3600, 60, 'm'],
  [172800, 3600, 'h'],
  [Number.POSITIVE_INFINITY, 86400, 'd'],
];

/** As the server words it, see relative() in src/core/format.ts. */
function relative(then, now) {
  const seconds = Math.round((now - then) / 1000);
  const size = Math.abs(seconds);
  if (size < 5) return 'just now';
  const [, per, unit] = ages.find(([below]) => size < below);
  const text = `${Math.floor(size / per)} ${unit}`;
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}

function tellAges(root = document) {
  for (const time of root.querySelectorAll('time[data-ago]')) {
    const text = relative(new Date(time.dateTime).getTime(), Date.now());
    if (time.textContent !== text) time.textContent = text;
  }
}

/** What a person did to a part must survive its replacement: opened details, the place in a scrolled table, the focus. */
function replace(part, fresh) {
  const opened = [...part.querySelectorAll('details')].map((each) => each.open);
  const scrolled = [...part.querySelectorAll('.scroll')].map((each) => each.scrollLeft);
  const focused = part.contains(document.activeElement) ? placeOf(part, document.activeElement) : undefined;
  part.replaceChildren(...fresh.childNodes);
  part.querySelectorAll('details').forEach((each, at) => {
    if (opened[at] !== undefined) each.open = opened[at];
  });
  part.querySelectorAll('.scroll').forEach((each, at) => {
    each.scrollLeft = scrolled[at] ?? 0;
  });
  if (focused !== undefined) [...part.querySelectorAll(focusable)][focused]?.focus({ preventScroll: true });
  tellAges(part);
  document.dispatchEvent(new CustomEvent('tidemark:replaced', { detail: part }));
}

const focusable = 'a, button, input, select, summary, [tabindex]';
const placeOf = (part, element) => {
  const at = [...part.querySelectorAll(focusable)].indexOf(element);
  return at < 0 ? undefined : at;
};

/** Markup as the server sent it, so that what scripts changed since does not count. */
const sent = new WeakMap();
const textOf = (part) => sent.get(part) ?? part.innerHTML;
for (const part of document.querySelectorAll('[data-live]')) sent.set(part, part.innerHTML);

const pulse = document.getElementById('pulse');
const say = (text, tone = '') => {
  pulse.textContent = text;
  pulse.dataset.tone = tone;
};
const clock = () => new Date().toISOString().slice(11, 19);

let fetching = false;
let again = false;

async function refresh() {
  if (fetching) {
    again = true;
    return;
  }
  fetching = true;
  try {
    const answer = await fetch(location.href, {
      headers: { accept: 'text/html' },
      credentials: 'same-origin',
    });
    if (answer.redirected && new URL(answer.url).pathname !== location.pathname) {
      location.reload();
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const main = document.getElementById('main');
    const parts = [...main.querySelectorAll('[data-live]')];
    const fresh = [...page.querySelectorAll('main [data-live]')];
    if (parts.map((each) => each.id).join() !== fresh.map((each) => each.id).join()) {
      // The page has other parts now, e.g. a request became a run.
      location.reload();
      return;
    }
    parts.forEach((part, at) => {
      const text = fresh[at].innerHTML;
      if (text === textOf(part)) return;
      sent.set(part, text);
      replace(part, fresh[at]);
    });
    const badge = page.getElementById('open-rejects');
    const shown = document.getElementById('open-rejects');
    if (badge && shown) shown.replaceChildren(...badge.childNodes);
    say(`live, as of ${clock()}`);
  } catch {
    say('out of reach; what you see may be old', 'bad');
  } finally {
    fetching = false;
    if (again) {
      again = false;
      setTimeout(refresh, 400);
    }
  }
}

const events = new EventSource('/events');
events.addEventListener('change', refresh);
events.addEventListener('trouble', (event) => say(`${event.data}; what you see may be old`, 'bad'));
events.addEventListener('open', () => say(`live, as of ${clock()}`));
events.addEventListener('error', () => say('out of reach; trying again', 'bad'));
// Bars that grow with time.
setInterval(() => {
  if (document.querySelector('[data-going]')) refresh();
}, 5000);
setInterval(tellAges, 10_000);
addEventListener('pagehide', () => events.close());
