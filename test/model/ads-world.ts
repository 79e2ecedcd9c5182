import { type Level, levels } from '../../simulators/spotify-ads/model.ts';
import type { AdsSimulator } from '../../simulators/spotify-ads/server.ts';
import type { Change } from './ads-steps.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** So much time may pass in a history: what was restated in it must be among what is read again in the end. */
const longest = 8 * day;

/** The ads platform with what can happen to it. */
export interface AdsWorld {
  /** False where there was nothing that it could happen to. */
  change(change: Change): boolean;
  /** Whether an account was ever closed to us. */
  wasClosed(): boolean;
  /** Everything is open to us, and no report or file fails. */
  calm(): void;
}

export function adsWorldOf(platform: AdsSimulator): AdsWorld {
  const { state, clock, storage, tokens } = platform;
  const began = clock.now().getTime();
  // Lists of several small pages: what is deleted from the first ones moves all that comes after it.
  for (const [n, account] of [...state.accounts.keys()].entries())
    for (let i = 0; i < 6; i += 1) state.createAudience(account, `People ${n}.${i}`, 'CUSTOM');
  let serial = 0;
  let closed = false;
  const pick = <T>(all: Iterable<T>, n: number): T | undefined => {
    const list = [...all];
    return list[n % Math.max(1, list.length)];
  };
  const ids = (level: Level): readonly string[] => [
    ...{ AD_ACCOUNT: state.accounts, CAMPAIGN: state.campaigns, AD_SET: state.adSets, AD: state.ads }[
      level
    ].keys(),
  ];
  const ago = (days: number): string => {
    const today = Math.floor(clock.now().getTime() / day) * day;
    return new Date(today - days * day).toISOString().slice(0, 10);
  };
  const draft = (which: number) => pick([...state.drafts.values()], which);
  const calm = (): void => {
    for (const id of state.accounts.keys()) state.forbid(id, false);
    storage.outcomes.length = 0;
    for (const name of Object.keys(storage.spoiling)) Reflect.deleteProperty(storage.spoiling, name);
  };

  const change = (what: Change): boolean => {
    serial += 1;
    switch (what.is) {
      case 'restate':
      case 'restate hour': {
        const level = levels[what.level] ?? 'AD';
        const id = pick(ids(level), what.which);
        const when =
          what.is === 'restate'
            ? ago(what.ago)
            : `${ago(what.ago)}T${String(what.which % 24).padStart(2, '0')}`;
        const field = pick(['SPEND', 'IMPRESSIONS', 'CLICKS', 'CTR'], serial) ?? 'SPEND';
        const told = { SPEND: `90071992${serial}.740993`, CTR: `0.${String(serial).padStart(6, '0')}` }[
          field
        ];
        state.restate(level, id ?? '', when, field, told ?? `${serial}.0`);
        return id !== undefined;
      }
      case 'correct': {
        const id = pick(ids('AD'), what.which);
        if (id === undefined) return false;
        state.correct(id, ago(what.ago), { spend: BigInt(serial), counts: { CLICKS: serial, PURCHASES: 1 } });
        return true;
      }
      case 'campaign':
      case 'ad set':
      case 'ad': {
        const account = pick(ids('AD_ACCOUNT'), what.which) ?? '';
        const campaign =
          what.is === 'campaign'
            ? state.createCampaign(account, `Campaign ${serial}`).id
            : pick(ids('CAMPAIGN'), what.which);
        const adSet =
          what.is === 'ad'
            ? pick(ids('AD_SET'), what.which)
            : state.createAdSet(campaign ?? '', `Set ${serial}`).id;
        // A server that has no list of ad sets shows them by their ads only.
        state.createAd(adSet ?? '', `Ad ${serial}`);
        return true;
      }
      case 'audience':
        state.createAudience(pick(ids('AD_ACCOUNT'), what.which) ?? '', `Audience ${serial}`, 'CUSTOM');
        return true;
      case 'asset':
        state.createAsset(pick(ids('AD_ACCOUNT'), what.which) ?? '', `Asset ${serial}`, 'IMAGE');
        return true;
      case 'budget':
        state.update(pick(ids('AD_SET'), what.which) ?? '', {
          budget: 9_007_199_254_740_993n + BigInt(serial),
        });
        return true;
      case 'bid':
        state.update(pick(ids('AD_SET'), what.which) ?? '', { bid: 1_000_000n + BigInt(serial) });
        return true;
      case 'pause':
      case 'resume': {
        const id = pick([...ids('CAMPAIGN'), ...ids('AD_SET'), ...ids('AD')], what.which) ?? '';
        if (state.campaigns.has(id)) state.update(id, { status: what.is === 'pause' ? 'PAUSED' : 'ACTIVE' });
        else state.update(id, { delivery: what.is === 'pause' ? 'OFF' : 'ON' });
        return true;
      }
      case 'archive':
        state.archive(
          pick([...ids('CAMPAIGN'), ...ids('AD_SET'), ...ids('AD'), ...state.assets.keys()], what.which) ??
            '',
        );
        return true;
      case 'rename':
        // CSV reports know things by their names only: rows of the old name go.
        state.update(pick([...ids('CAMPAIGN'), ...ids('AD_SET'), ...ids('AD')], what.which) ?? '', {
          name: `Renamed ${serial}`,
        });
        return true;
      case 'edit audience': {
        const id = pick(state.audiences.keys(), what.which);
        if (id !== undefined) state.update(id, { size: 100 * serial });
        return id !== undefined;
      }
      case 'delete audience':
        return state.deleteAudience(pick(state.audiences.keys(), what.which) ?? '');
      case 'draft':
        state.createDraft(pick(ids('AD_ACCOUNT'), what.which) ?? '', `Draft ${serial}`);
        return true;
      case 'draft of live':
        state.draftOf(pick([...ids('CAMPAIGN'), ...ids('AD_SET'), ...ids('AD')], what.which) ?? '');
        return true;
      case 'edit draft': {
        const found = draft(what.which);
        if (found !== undefined) state.editDraft(found.of.id, { name: `Edited ${serial}` });
        return found !== undefined;
      }
      case 'publish': {
        const ready = [...state.drafts.values()].filter(
          (one) => one.kind === 'campaign' && state.flaws(one.of.id).length === 0,
        );
        const found = pick(ready, what.which);
        if (found !== undefined) state.publish(found.of.id);
        return found !== undefined;
      }
      case 'delete draft':
        return state.deleteDraft(draft(what.which)?.of.id ?? '');
      case 'close':
        // Somebody to whom everything is closed is another story.
        state.forbid(ids('AD_ACCOUNT').at(-1) ?? '');
        closed = true;
        return true;
      case 'open':
        state.forbid(ids('AD_ACCOUNT').at(-1) ?? '', false);
        return true;
      case 'report fails':
        storage.outcomes.push('FAILED');
        return true;
      case 'report expires':
        storage.outcomes.push('EXPIRED');
        return true;
      case 'file is cut':
        storage.spoiling.cut = 3;
        return true;
      case 'file is short':
        storage.spoiling.truncated = 4;
        return true;
      case 'address expires':
        storage.spoiling.expired = 1;
        return true;
      case 'token ends':
        tokens.revoke();
        return true;
      case 'hours':
        if (clock.now().getTime() + what.hours * hour > began + longest) return false;
        clock.advance(what.hours * hour);
        return true;
    }
  };
  return { change, wasClosed: () => closed, calm };
}
