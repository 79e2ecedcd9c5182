// Redraws the plots with uPlot: exact pixels, a cursor that reads values, a range that can be dragged out. Without it the SVG below stays.

const { uPlot } = globalThis;
const drawn = new Map();

const grouped = new Intl.NumberFormat('en-US');
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

const duration = (seconds) => {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} m ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} m`;
};

/** Seconds that people count in. */
const steps = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 28_800, 86_400,
];

const words = {
  seconds: { long: duration, short: (n) => (n === 0 ? '0' : duration(n).replace(/ 0 [sm]$/, '')) },
};
const plain = { long: (n) => grouped.format(n), short: (n) => short.format(n) };

const colors = (figure) => {
  const style = getComputedStyle(figure);
  return (name) => style.getPropertyValue(`--${name}`).trim();
};

const minute = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ');
const day = (seconds) => new Date(seconds * 1000).toISOString().slice(5, 10);
const time = (seconds) => new Date(seconds * 1000).toISOString().slice(11, 16);

function draw(figure) {
  const canvas = figure.querySelector('.canvas');
  const given = JSON.parse(figure.dataset.plot);
  if (!uPlot || !canvas || given.at.length === 0) return;
  const color = colors(figure);
  const say = words[given.unit] ?? plain;
  const bars = given.kind === 'bars';
  const places = given.at.map((_, at) => at);
  const raw = given.series.map(({ values }) => values);
  // A stack is drawn from its top downwards: each bar covers the lower part of the one behind it.
  const sums = [];
  raw.forEach((values, at) => {
    sums.push(values.map((value, place) => (value ?? 0) + (at === 0 ? 0 : sums[at - 1][place])));
  });
  const order = bars
    ? given.series.map((_, at) => given.series.length - 1 - at)
    : given.series.map((_, at) => at);
  const oneDay = given.at.at(-1) - given.at[0] < 172_800;
  const label = (at) => (oneDay ? time(at) : day(at));
  const wide = Math.max(200, canvas.clientWidth);
  const few = Math.max(given.at.length, 10);
  const dashed = (value) => ({
    stroke: color('ink'),
    width: 1,
    dash: [4, 4],
    points: { show: false },
    label: '',
    value,
  });
  const plot = new uPlot(
    {
      width: wide,
      height: 176,
      padding: [10, 8, 0, 0],
      cursor: { y: false, points: { show: !bars }, drag: { x: true, y: false } },
      legend: { live: true, markers: { width: 0 } },
      scales: {
        x: bars
          ? {
              time: false,
              range: (_, min, max) =>
                max - min < few - 1 && min === 0 ? [-0.5, few - 0.5] : [min - 0.5, max + 0.5],
            }
          : { time: true },
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.06 : 1] },
      },
      axes: [
        {
          stroke: color('soft-ink'),
          font: '11px system-ui',
          size: 26,
          grid: { show: false },
          ticks: { show: false },
          space: 64,
          ...(bars
            ? {
                incrs: [1, 2, 5, 10, 20, 50],
                values: (_, ticks) =>
                  ticks.map((at) =>
                    Number.isInteger(at) && given.at[at] !== undefined ? label(given.at[at]) : '',
                  ),
              }
            : { values: (_, ticks) => ticks.map(label) }),
        },
        {
          stroke: color('soft-ink'),
          font: '11px system-ui',
          size: given.unit === 'seconds' ? 64 : 48,
          ...(given.unit === 'seconds' ? { incrs: steps } : {}),
          space: 36,
          grid: { stroke: color('line'), width: 1 },
          ticks: { show: false },
          values: (_, ticks) => ticks.map((tick) => say.short(tick)),
        },
      ],
      series: [
        {
          label: 'at',
          value: (_, x) =>
            x === null || x === undefined
              ? ''
              : bars
                ? given.at[x] === undefined
                  ? ''
                  : minute(given.at[x])
                : minute(x),
        },
        ...order.map((at) => {
          const { name, color: tone } = given.series[at];
          return {
            label: name,
            value: (_, __, ___, place) =>
              place === null || place === undefined || raw[at][place] === null
                ? '–'
                : say.long(raw[at][place]),
            ...(bars
              ? {
                  fill: color(`fill-${tone}`),
                  width: 0,
                  paths: uPlot.paths.bars({ size: [0.72, 28], radius: 0.08 }),
                  points: { show: false },
                }
              : {
                  stroke: color(`fill-${tone}`),
                  width: 2,
                  paths: uPlot.paths.stepped({ align: 1 }),
                  points: { show: given.at.length < 40, size: 5 },
                }),
          };
        }),
        ...given.levels.map(({ value }) => dashed(() => say.long(value))),
      ],
      hooks: {
        init: [(made) => labelLevels(made, given, order.length)],
        // Without a cursor there is nothing to read.
        setCursor: [
          ({ root, cursor }) => root.querySelector('.u-legend')?.classList.toggle('idle', cursor.idx == null),
        ],
      },
    },
    [
      bars ? places : given.at,
      ...order.map((at) => (bars ? sums[at] : raw[at])),
      ...given.levels.map(({ value }) => places.map(() => value)),
    ],
    (made, ready) => {
      canvas.classList.add('drawn');
      canvas.append(made.root);
      ready();
    },
  );
  plot.root.setAttribute('aria-hidden', 'true');
  plot.root.querySelector('.u-legend')?.classList.add('idle');
  drawn.set(figure, { plot, wide });
}

/** The levels are named above the plot already: the legend need not repeat them. */
function labelLevels(made, given, before) {
  const rows = made.root.querySelectorAll('.u-legend .u-series');
  for (const at of given.levels.keys()) rows[1 + before + at]?.remove();
}

function erase(figure) {
  drawn.get(figure)?.plot.destroy();
  drawn.delete(figure);
  figure.querySelector('.canvas')?.classList.remove('drawn');
}

function drawAll(root) {
  for (const figure of drawn.keys()) if (!figure.isConnected) erase(figure);
  for (const figure of root.querySelectorAll('[data-plot]')) if (!drawn.has(figure)) draw(figure);
}

function redraw() {
  for (const figure of [...drawn.keys()]) erase(figure);
  drawAll(document);
}

drawAll(document);
document.addEventListener('tidemark:replaced', ({ detail }) => drawAll(detail));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
let resizing;
addEventListener('resize', () => {
  clearTimeout(resizing);
  resizing = setTimeout(redraw, 150);
});
