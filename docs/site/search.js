// The search of the site: its index comes with the page, so that it works without a server. And the menu of narrow screens.
const query = document.getElementById('query');
const found = document.getElementById('found');
const index = window.MiniSearch.loadJSON(window.searchIndex, window.searchOptions);
const how = {
  prefix: true,
  fuzzy: (term) => (term.length > 5 ? 0.2 : 0),
  combineWith: 'AND',
  boost: { title: 4, page: 2 },
};

function show() {
  const results = query.value.trim() === '' ? [] : index.search(query.value, how).slice(0, 12);
  found.replaceChildren(
    ...results.map(({ id, page, title }) => {
      const link = document.createElement('a');
      link.href = `${query.dataset.root}/${id}`;
      link.textContent = title === page ? page : `${page} › ${title}`;
      const item = document.createElement('li');
      item.append(link);
      return item;
    }),
  );
  if (results.length === 0 && query.value.trim() !== '') found.textContent = 'Nothing found.';
  found.hidden = query.value.trim() === '';
}

query.addEventListener('input', show);
addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== query) {
    event.preventDefault();
    query.focus();
  }
  if (event.key === 'Escape') {
    query.value = '';
    show();
  }
  if (event.key === 'Enter' && document.activeElement === query) found.querySelector('a')?.click();
});

const toggle = document.getElementById('toggle');
toggle.addEventListener('click', () => {
  const isOpen = document.body.classList.toggle('open');
  toggle.setAttribute('aria-expanded', String(isOpen));
});
