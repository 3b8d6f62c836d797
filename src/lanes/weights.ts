/**
 * The targets in the order in which to ask them: one drawn by its weight, then the others as they stand. As they stand all of
 * them where none has a weight. `random`: at least 0 and less than 1.
 */
export function drawFirst<T extends { weight?: number }>(targets: readonly T[], random: () => number): readonly T[] {
  const total = targets.reduce((sum, { weight = 0 }) => sum + weight, 0);
  if (total === 0) return targets;
  let left = random() * total;
  const first = targets.find(({ weight = 0 }) => (left -= weight) < 0) ?? targets[0]!;
  return [first, ...targets.filter((target) => target !== first)];
}
