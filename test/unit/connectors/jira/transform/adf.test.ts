import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adfText } from '../../../../../src/connectors/jira/transform/adf.ts';

const text = (value: string) => ({ type: 'text', text: value });
const paragraph = (...content: readonly unknown[]) => ({ type: 'paragraph', content });
const doc = (...content: readonly unknown[]) => ({ type: 'doc', version: 1, content });
const list = (type: string, ...items: readonly (readonly unknown[])[]) => ({
  type,
  content: items.map((content) => ({ type: 'listItem', content })),
});
const leaf = (type: string, attrs: object) => ({ type, attrs });

describe('adfText', () => {
  it('lets the plain text of older servers pass through untouched', () => {
    expect(adfText('  *bold* \n')).toBe('  *bold* \n');
  });

  it('joins marked words and breaks lines between blocks', () => {
    const bold = { ...text('bold'), marks: [{ type: 'strong' }] };
    expect(adfText(doc(paragraph(text('some '), bold, text(' words')), paragraph(text('next'))))).toBe(
      'some bold words\nnext',
    );
  });

  it('writes headings, hard breaks, rules, quotes and code', () => {
    const document = doc(
      { type: 'heading', attrs: { level: 1 }, content: [text('Title')] },
      paragraph(text('a'), { type: 'hardBreak' }, text('b')),
      { type: 'rule' },
      { type: 'blockquote', content: [paragraph(text('said')), paragraph(text('he'))] },
      { type: 'codeBlock', attrs: { language: 'ts' }, content: [text('const a = 1;\n  a;')] },
      { type: 'panel', attrs: { panelType: 'info' }, content: [paragraph(text('careful'))] },
      { type: 'expand', attrs: { title: 'More' }, content: [paragraph(text('inside'))] },
    );
    expect(adfText(document)).toBe(
      'Title\na\nb\n---\n> said\n> he\nconst a = 1;\n  a;\ncareful\nMore\ninside',
    );
  });

  it('marks and indents lists', () => {
    const numbered = list('orderedList', [paragraph(text('three'))], [paragraph(text('four'))]);
    const task = (state: string, value: string) => ({
      ...leaf('taskItem', { state }),
      content: [text(value)],
    });
    const document = doc(
      list(
        'bulletList',
        [paragraph(text('one'))],
        [paragraph(text('two')), list('bulletList', [paragraph(text('deep'))])],
      ),
      { ...numbered, attrs: { order: 3 } },
      { type: 'taskList', content: [task('DONE', 'did'), task('TODO', 'do')] },
    );
    expect(adfText(document)).toBe('- one\n- two\n  - deep\n3. three\n4. four\n[x] did\n[ ] do');
  });

  it('writes a table a line a row', () => {
    const cell = (type: string, value: string) => ({
      type,
      content: [paragraph(text(value)), paragraph(text('2'))],
    });
    const document = doc({
      type: 'table',
      content: [
        { type: 'tableRow', content: [cell('tableHeader', 'h1'), cell('tableHeader', 'h2')] },
        { type: 'tableRow', content: [{ type: 'tableCell', content: [] }, cell('tableCell', 'b')] },
      ],
    });
    expect(adfText(document)).toBe('h1 2 | h2 2\n | b 2');
  });

  it('names people, emoji, cards, dates, statuses and media', () => {
    const mentions = [{ id: '5b10', text: '@Ann' }, { id: '5b11', text: 'Bob' }, { id: '5b12' }];
    const document = doc(
      paragraph(
        ...mentions.flatMap((attrs) => [leaf('mention', attrs), text(' ')]),
        leaf('emoji', { shortName: ':smile:', text: '😄' }),
        leaf('emoji', { shortName: ':custom:' }),
        text(' '),
        leaf('inlineCard', { url: 'https://example.com/x' }),
        text(' '),
        leaf('date', { timestamp: '1582152559000' }),
        text(' '),
        leaf('status', { text: 'DOING', color: 'blue' }),
      ),
      { type: 'mediaSingle', content: [leaf('media', { alt: 'screenshot.png', id: 'x' })] },
      { type: 'mediaGroup', content: [leaf('media', { id: 'y' })] },
    );
    expect(adfText(document)).toBe(
      '@Ann @Bob @5b12 😄:custom: https://example.com/x 2020-02-19 DOING\n[screenshot.png]\n[media y]',
    );
  });

  // https://github.com/bitwarden/ai-plugins/issues/65: a link behind words was only its words.
  it('writes the address of a link after its last word, once', () => {
    const linked = (words: string, href: string, ...more: readonly object[]) => ({
      ...text(words),
      marks: [...more, { type: 'link', attrs: { href } }],
    });
    const plan = 'https://example.com/plan';
    const document = doc(
      paragraph(
        linked('the ', plan),
        linked('plan', plan, { type: 'strong' }),
        text(', and '),
        linked(plan, plan),
      ),
      paragraph(
        linked('ann@example.com', 'mailto:ann@example.com'),
        text(' '),
        linked('here', '/browse/A-1'),
      ),
      {
        type: 'mediaSingle',
        content: [
          {
            ...leaf('media', { alt: 'a.png' }),
            marks: [{ type: 'link', attrs: { href: plan, title: 'Plan B' } }],
          },
          { type: 'caption', content: [text('below it')] },
        ],
      },
      paragraph(linked('a', plan), linked('b', `${plan}/2`)),
    );
    expect(adfText(document)).toBe(
      [
        `the plan (${plan}), and ${plan}`,
        'ann@example.com here (/browse/A-1)',
        `[a.png] (${plan} "Plan B")`,
        'below it',
        `a (${plan})b (${plan}/2)`,
      ].join('\n'),
    );
  });

  // https://github.com/atlassian/atlassian-mcp-server/issues/189: smart links carry `data` instead of `url`.
  it('names cards and macros by what they carry, without the pictures', () => {
    const data = {
      '@context': 'https://www.w3.org/ns/activitystreams',
      '@type': 'Document',
      url: { '@type': 'Link', href: 'https://example.com/b' },
      name: 'Bee',
      icon: { '@type': 'Image', url: 'https://example.com/icon.png' },
    };
    const macro = {
      extensionType: 'com.example.macro',
      extensionKey: 'tree',
      parameters: {
        macroParams: {
          title: { value: 'Pages' },
          root: { value: 'https://example.com/root' },
          depth: { value: '2' },
        },
        macroMetadata: {
          macroId: { value: 'm-1' },
          title: 'Page tree',
          placeholder: [{ type: 'icon', data: { url: 'https://example.com/tree.png' } }],
        },
      },
    };
    const document = doc(
      paragraph(text('see '), leaf('inlineCard', { data }), text(' by '), leaf('inlineExtension', macro)),
      leaf('blockCard', { data: [data] }),
      leaf('blockCard', {
        datasource: { id: 'd', parameters: { cloudId: 'c', jql: 'project = A' }, views: [] },
      }),
      leaf('embedCard', { url: 'https://example.com/video', layout: 'wide' }),
      { ...leaf('bodiedExtension', { ...macro, text: 'as text' }), content: [paragraph(text('inside'))] },
    );
    const tree = 'Pages Page tree https://example.com/root';
    expect(adfText(document)).toBe(
      [
        `see Bee https://example.com/b by ${tree}`,
        'Bee https://example.com/b',
        'project = A',
        'https://example.com/video',
        'Pages Page tree as text https://example.com/root',
        'inside',
      ].join('\n'),
    );
  });

  // Every node of the vendor's JSON schema (@atlaskit/adf-schema, full.json) that has attributes to read.
  it.each<readonly [type: string, parent: string, attrs: object, shown: string]>([
    ['blockCard', 'doc', { url: 'https://x.test/1' }, 'https://x.test/1'],
    ['blockCard', 'doc', { data: { url: 'https://x.test/1', name: 'One' } }, 'One https://x.test/1'],
    [
      'blockCard',
      'doc',
      { url: 'https://x.test/1', datasource: { parameters: { jql: 'a=1' } } },
      'a=1 https://x.test/1',
    ],
    ['inlineCard', 'paragraph', { url: 'https://x.test/1' }, 'https://x.test/1'],
    ['inlineCard', 'paragraph', { data: { url: 'https://x.test/1', title: 'One' } }, 'One https://x.test/1'],
    ['embedCard', 'doc', { url: 'https://x.test/1', layout: 'center' }, 'https://x.test/1'],
    ['expand', 'doc', { title: 'One' }, 'One'],
    ['nestedExpand', 'tableCell', { title: 'One' }, 'One'],
    ['extension', 'doc', { extensionKey: 'k', text: 'One', parameters: { url: '/x' } }, 'One /x'],
    ['bodiedExtension', 'doc', { extensionKey: 'k', parameters: { title: 'One' } }, 'One'],
    ['inlineExtension', 'paragraph', { extensionKey: 'k', parameters: { extensionTitle: 'One' } }, 'One'],
    [
      'media',
      'mediaSingle',
      { type: 'external', url: 'https://x.test/1', alt: 'One' },
      '[One https://x.test/1]',
    ],
    ['media', 'mediaGroup', { type: 'file', id: 'm-1', collection: 'c' }, '[media m-1]'],
    ['mediaInline', 'paragraph', { type: 'file', id: 'm-1', data: { name: 'a.pdf' } }, '[a.pdf]'],
    ['mediaInline', 'paragraph', { type: 'image', id: 'm-1', collection: '' }, '[media m-1]'],
    ['mention', 'paragraph', { id: 'acc-1', userType: 'APP' }, '@acc-1'],
    ['mention', 'paragraph', { id: 'acc-1', text: '@Ann' }, '@Ann'],
    ['emoji', 'paragraph', { shortName: ':one:', id: 'atlassian-one' }, ':one:'],
    ['date', 'paragraph', { timestamp: '1709251200000' }, '2024-03-01'],
    ['placeholder', 'paragraph', { text: 'type here' }, 'type here'],
    ['status', 'paragraph', { text: 'AT RISK', color: 'red' }, 'AT RISK'],
    ['panel', 'doc', { panelType: 'custom', panelIcon: ':one:', panelIconText: '1️⃣' }, '1️⃣'],
  ])('shows what a %s in a %s says: %j', (type, parent, attrs, shown) => {
    expect(adfText(doc({ type: parent, content: [leaf(type, attrs)] }))).toBe(shown);
  });

  // The rest of the schema holds words of others.
  it.each(
    [
      'blockquote bulletList caption codeBlock decisionItem decisionList heading layoutColumn layoutSection listItem',
      'mediaGroup mediaSingle nestedExpand orderedList panel paragraph table tableCell tableHeader tableRow',
      'taskItem blockTaskItem taskList bodiedSyncBlock bodiedExtension expand embedCard',
    ].flatMap((line) => line.split(' ')),
  )('shows what is in a %s', (type) => {
    const marked = { ...text('inside'), marks: [{ type: 'link', attrs: { href: 'https://x.test/1' } }] };
    const shown = adfText(doc({ type, attrs: { localId: 'l' }, content: [marked] }));
    expect(shown).toContain('inside (https://x.test/1)');
    expect(shown).not.toContain('undefined');
  });

  it('gives the text of nodes it does not know', () => {
    expect(adfText(doc({ type: 'newBlock', content: [paragraph(text('kept'))] }))).toBe('kept');
    expect(adfText(doc(paragraph({ type: 'newInline', attrs: { text: 'kept, too' } })))).toBe('kept, too');
    expect(adfText(doc(paragraph({ type: 'newLeaf', text: 'and this' })))).toBe('and this');
  });

  it('reads keys named like inherited ones as data', () => {
    const odd = { type: 'toString', attrs: { constructor: 'x' } };
    expect(adfText(doc(paragraph(odd, text('fine'))))).toBe('\nfine');
    const proto = '{"type":"doc","__proto__":{"content":[{"type":"text","text":"no"}]}}';
    expect(adfText(JSON.parse(proto))).toBe('');
  });

  it('survives a document a hundred thousand levels deep', () => {
    let deep: unknown = text('bottom');
    for (let level = 0; level < 100_000; level++) deep = { type: 'blockquote', content: [text('x'), deep] };
    expect(adfText(deep)).not.toContain('bottom');
    expect(adfText(deep)).toContain('> x');
  });

  it('never throws and never changes its input, whatever JSON it gets', () => {
    const type = fc.constantFrom(
      ...'doc paragraph text orderedList listItem table tableRow tableCell media date'.split(' '),
      ...'mention emoji inlineCard expand taskItem blockquote unknown __proto__ constructor'.split(' '),
    );
    const { node } = fc.letrec((tie) => {
      const content = fc.array(tie('node'), { maxLength: 4 });
      const member = { type, text: fc.jsonValue(), attrs: fc.jsonValue(), content };
      return { node: fc.oneof({ maxDepth: 6 }, fc.jsonValue(), fc.record(member, { requiredKeys: [] })) };
    });
    fc.assert(
      fc.property(node, (value) => {
        const before = JSON.stringify(value);
        expect(typeof adfText(value)).toBe('string');
        expect(JSON.stringify(value)).toBe(before);
      }),
      { numRuns: 500 },
    );
  });
});
