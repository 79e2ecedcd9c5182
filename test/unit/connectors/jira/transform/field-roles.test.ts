import { describe, expect, it } from 'vitest';
import {
  catalogueOf,
  customFieldId,
  type OwnFields,
  roleOf,
} from '../../../../../src/connectors/jira/transform/field-catalogue.ts';

const agile = 'com.pyxis.greenhopper.jira:';
const generic = 'com.atlassian.jira.plugin.system.customfieldtypes:';

interface Said {
  readonly id?: string;
  readonly name: string;
  readonly english?: string;
  readonly type?: string;
  readonly items?: string;
  readonly key?: string;
  readonly custom?: boolean;
}

const field = ({ id = 'customfield_1', name, english, type, items, key, custom = true }: Said) => ({
  id,
  name,
  untranslated_name: english ?? null,
  custom,
  schema_type: type ?? null,
  items_type: items ?? null,
  schema_custom: key ?? null,
});

// The words and keys are the vendor's. Reports: aprey10/open-poker#39, Qytera-Gmbh/cypress-xray-plugin#137.
describe('the role of a field', () => {
  it.each<readonly [role: string | null, said: Said]>([
    ['sprint', { name: '冲刺', type: 'array', items: 'json', key: `${agile}gh-sprint` }],
    ['sprint', { name: 'Sprint', type: 'array', items: 'string', key: `${agile}gh-sprint` }],
    [null, { name: 'Sprint', type: 'array', items: 'string', key: `${generic}labels` }],
    [null, { name: 'Sprint', type: 'string', key: `${generic}textfield` }],
    ['epic_link', { name: "Lien d'épopée", type: 'any', key: `${agile}gh-epic-link` }],
    ['epic_link', { name: 'Epic Link', type: 'any' }],
    [null, { name: 'Epic Name', type: 'string', key: `${agile}gh-epic-label` }],
    [
      'story_points',
      { name: "Estimation en points d'effort", type: 'number', key: `${agile}jsw-story-points` },
    ],
    ['story_points', { name: '故事点', english: 'Story Points', type: 'number', key: `${generic}float` }],
    ['story_points', { name: ' story point estimate ', type: 'number', key: `${generic}float` }],
    [null, { name: 'Story Points', type: 'string', key: `${generic}textfield` }],
    [null, { name: 'Story Points', type: 'number', custom: false }],
    [null, { name: 'Story Points Done', type: 'number' }],
    ['flagged', { name: 'Marqué', english: 'Flagged', type: 'array', items: 'option' }],
    ['team', { name: 'Équipe', type: 'team', key: `${generic}atlassian-team` }],
    ['team', { name: '团队', type: 'any', key: 'com.atlassian.teams:rm-teams-custom-field-team' }],
    [null, { name: 'Team', type: 'option', key: `${generic}select` }],
    ['start_date', { name: '开始日期', english: 'Start date', type: 'date', key: `${generic}datepicker` }],
    [null, { name: 'Start date', type: 'datetime', key: `${generic}datetime` }],
  ])('is %s of %j', (role, said) => {
    expect(roleOf(field(said), {})).toEqual({ role, role_place: null });
  });

  it('is what the configuration says, by id or name, and nothing else then has it', () => {
    const own: OwnFields = { storyPointsFields: ['SP', 'customfield_9'], teamFields: ['squad'] };
    const roles = [
      { id: 'customfield_9', name: '見積もり', type: 'number' },
      { id: 'customfield_7', name: '点', english: 'sp', type: 'string' },
      { id: 'customfield_5', name: 'Story Points', type: 'number' },
      { id: 'customfield_3', name: 'Squad', type: 'option' },
      { id: 'customfield_2', name: 'Sprint', key: `${agile}gh-sprint` },
    ].map((said) => roleOf(field(said), own));
    expect(roles).toEqual([
      { role: 'story_points', role_place: 1 },
      { role: 'story_points', role_place: 0 },
      { role: null, role_place: null },
      { role: 'team', role_place: 0 },
      { role: 'sprint', role_place: null },
    ]);
  });
});

describe('the catalogue', () => {
  const catalogue = (own: OwnFields, ...fields: readonly Said[]) =>
    catalogueOf(new Map(fields.map((said) => [String(said.id), field(said)])), own);

  it('orders candidates by the configuration, else by id', () => {
    const two = [
      { id: 'customfield_2', name: 'Story Points', type: 'number' },
      { id: 'customfield_1', name: 'x', key: `${agile}jsw-story-points` },
    ];
    expect(catalogue({}, ...two).byRole.get('story_points')).toEqual(['customfield_1', 'customfield_2']);
    const own = { storyPointsFields: ['story points', 'customfield_1'] };
    expect(catalogue(own, ...two).byRole.get('story_points')).toEqual(['customfield_2', 'customfield_1']);
  });

  it('takes a configured id as it is where the lists of fields are closed', () => {
    const { byRole } = catalogue({ storyPointsFields: ['customfield_4', 'SP', 'customfield_3'] });
    expect(byRole.get('story_points')).toEqual(['customfield_4', 'customfield_3']);
  });

  // A server's history names fields in English whatever the account's language: apache/devlake#3991.
  it('knows a field that a change names in English', () => {
    const site = catalogue(
      {},
      { id: 'customfield_1', name: 'スプリント', key: `${agile}gh-sprint` },
      { id: 'customfield_2', name: 'ポイント', english: 'Story Points', type: 'number' },
      { id: 'customfield_3', name: 'Risiko' },
    );
    expect(
      ['Sprint', 'Story Points', 'ポイント', 'Risiko', 'Risk'].map((name) => customFieldId(name, site)),
    ).toEqual(['customfield_1', 'customfield_2', 'customfield_2', 'customfield_3', 'Risk']);
  });

  it('leaves the name Sprint to other fields that have it', () => {
    const site = catalogue(
      {},
      { id: 'customfield_1', name: 'スプリント', key: `${agile}gh-sprint` },
      { id: 'customfield_2', name: 'Sprint', type: 'string' },
    );
    expect(customFieldId('Sprint', site)).toBe('customfield_2');
  });
});
