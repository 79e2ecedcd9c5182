/** A place for secrets that a source renews, such as refresh tokens. */
export interface Vault {
  /**
   * Runs `work` with the text that is kept under this name, while no other process does. `keep` replaces the text, durably when it returns; it
   * may be called once, after which others may go on.
   */
  alone<T>(
    name: string,
    work: (kept: string | undefined, keep: (text: string) => Promise<void>) => Promise<T>,
  ): Promise<T>;
}
