// Keeps a page current: when the server says that something changed, the page is fetched again, and the parts that differ are replaced.
// Writes times in the zone of the reader, and draws charts.

/** Markup as the server sent it: what this script changed since does not count. */
const sent = new WeakMap();
const parts = (root) => [...root.querySelectorAll('[data-live]')];
for (const part of parts(document)) sent.set(part, part.innerHTML);

const scrolling = '.scroll, .log';
const focusable = 'a, button, input, select, summary, [tabindex]';
/** Within a line of its end. */
const isAtEnd = (each) => each.scrollHeight - each.scrollTop - each.clientHeight < 40;

const minute = (at) => at.toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'short' });

/** Times as the clocks of the reader show them; the server wrote UTC. */
function localize(root) {
  for (const time of root.querySelectorAll('time[data-kind]')) {
    const at = new Date(time.dateTime);
    const { kind } = time.dataset;
    const isToday = at.toDateString() === new Date().toDateString();
    time.title = `${minute(at)} (${time.dateTime.slice(0, 16).replace('T', ' ')} UTC)`;
    if (kind !== 'age') time.textContent = kind === 'clock' && isToday ? minute(at).slice(11) : minute(at);
  }
}

/** Colours of series that are seen on light and on dark paper. */
const strokes = { good: '#258a6c', going: '#2f8ba3', warn: '#b37a00', bad: '#d9531f' };

/** Draws the numbers of a figure over time. The legend has those that the pointer is at. */
function draw(figure) {
  const { at, series, unit } = JSON.parse(figure.dataset.chart);
  const plot = figure.querySelector('.plot');
  const axis = { stroke: getComputedStyle(plot).color, grid: { stroke: '#8884' } };
  const text = (n) => `${n?.toLocaleString('en-US') ?? '–'}${unit}`;
  const moment = (seconds) => (seconds ? minute(new Date(seconds * 1000)) : '–');
  const shown = series.map(({ name, tone }) => {
    return { label: name, stroke: strokes[tone], width: 2, value: (_, n) => text(n) };
  });
  const chart = {
    width: plot.clientWidth,
    height: 200,
    axes: [
      { ...axis, space: 100, values: (_, ticks) => ticks.map((tick) => moment(tick).slice(5)) },
      { ...axis, size: 70, values: (_, ticks) => ticks.map(text) },
    ],
    scales: { y: { range: (_, __, most) => [0, most || 1] } },
    series: [{ label: 'At', value: (_, seconds) => moment(seconds) }, ...shown],
  };
  plot.replaceChildren();
  new uPlot(chart, [at, ...series.map(({ values }) => values)], plot);
}

function show(root) {
  localize(root);
  for (const figure of root.querySelectorAll('figure[data-chart]')) draw(figure);
}

/** Replaces a part, but keeps opened details, scroll positions (a log stays at its end) and the focus. */
function replace(part, fresh) {
  const opened = [...part.querySelectorAll('details')].map((each) => each.open);
  const scrolled = [...part.querySelectorAll(scrolling)].map((each) => [
    each.scrollLeft,
    isAtEnd(each) ? Number.MAX_SAFE_INTEGER : each.scrollTop,
  ]);
  const focused = [...part.querySelectorAll(focusable)].indexOf(document.activeElement);
  part.replaceChildren(...fresh.childNodes);
  show(part);
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

const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
if (timeZone !== 'UTC') document.querySelector('#zone').textContent = `times of ${timeZone}, UTC on hover`;
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => show(document));
addEventListener('resize', () => show(document));
show(document);
for (const log of document.querySelectorAll('.log')) log.scrollTop = log.scrollHeight;
follow();
