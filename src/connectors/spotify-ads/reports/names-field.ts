/**
 * Those of the names that a server's messages tell, each as a word of its own: SPEND is not named by RETURN_ON_AD_SPEND, nor by `Spend`.
 */
export const namedIn = (messages: readonly string[], names: readonly string[]): readonly string[] => {
  const told = new Set(messages.join(' ').match(/[A-Za-z_][A-Za-z0-9_]*/g));
  return names.filter((name) => told.has(name));
};
