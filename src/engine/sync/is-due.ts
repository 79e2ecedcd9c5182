/** When what is read again every so many days is to be read again. */
import { days, hours } from '../../core/time.ts';

/** Nights do not begin at the same second, nor does a pipeline that waits for the one before it: what a night is early must not cost a day. */
const early = hours(6);

/** Whether what is read every so many days is due, by the source's clock. A last time that has not come yet was told by a clock that was wrong. */
export const isDue = (last: Date, every: number, clock: Date): boolean => {
  const age = clock.getTime() - last.getTime();
  return age >= days(every) - early || age < -early;
};
