// Follows a run's log as it is written. The end is kept in sight unless somebody reads further up.

const source = document.getElementById('main')?.dataset.log;
const list = document.getElementById('log');
const most = 2000;

if (source && list) {
  list.scrollTop = list.scrollHeight;
  const events = new EventSource(source);
  events.addEventListener('line', ({ data }) => {
    const { at, level, message } = JSON.parse(data);
    const follows = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    const line = document.createElement('li');
    line.className = level;
    const time = document.createElement('time');
    time.dateTime = at;
    time.textContent = at.slice(11, 19);
    line.append(time, ' ');
    if (level !== 'info') {
      const word = document.createElement('b');
      word.textContent = level;
      line.append(word, ' ');
    }
    const text = document.createElement('span');
    text.textContent = visible(message);
    line.append(text);
    list.append(line);
    while (list.children.length > most) list.firstElementChild.remove();
    if (follows) list.scrollTop = list.scrollHeight;
  });
  // Else the browser would ask for it again.
  events.addEventListener('end', () => events.close());
  addEventListener('pagehide', () => events.close());
}

/** What could reorder or hide text is written out, as the server does. */
function visible(text) {
  return text.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (sign) => `\\u${sign.codePointAt(0).toString(16).padStart(4, '0')}`,
  );
}
