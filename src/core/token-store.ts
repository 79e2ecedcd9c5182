/** Where a refresh token that the source renews is kept between runs. */

export interface TokenStore {
  /** The newest token that was kept; undefined if none was, or if it descends from another configured one. */
  read(): Promise<string | undefined>;
  /** Durable when it returns. */
  write(refreshToken: string): Promise<void>;
  /** Runs `work` while no other process does: no other process may use up a token between its reading and the writing of its successor. */
  alone<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}
