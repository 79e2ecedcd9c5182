/** PNG of at most 256 colours, a third of the size that a browser writes. */
import zlib from 'node:zlib';

/** `pixels`: RGBA, row by row; opaque. */
export function palettePng(width: number, height: number, pixels: Buffer): Buffer {
  const colors = palette(pixels);
  const indexes = new Map(colors.map((color, index) => [color, index]));
  const lines = Buffer.alloc(height * (width + 1)); // each line begins with its filter, 0
  for (let at = 0; at < width * height; at++) {
    const color = pixels.readUIntBE(at * 4, 3);
    const index = indexes.get(color) ?? nearest(color, colors);
    indexes.set(color, index);
    lines[at + Math.floor(at / width) + 1] = index;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3], 8); // bits of an index, and that it is one
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(colors.flatMap(channels))),
    chunk('IDAT', zlib.deflateSync(lines, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const channels = (color: number): readonly number[] => [color >> 16, (color >> 8) & 255, color & 255];

/** At most 256 colours, the most frequent first. Every colour of the picture is near to one of them, rare ones too. */
function palette(pixels: Buffer): readonly number[] {
  const counts = new Map<number, number>();
  for (let at = 0; at < pixels.length; at += 4) {
    const color = pixels.readUIntBE(at, 3);
    counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  const all = [...counts].sort(([, a], [, b]) => b - a).map(([color]) => color);
  for (let apart = 2; ; apart++) {
    const chosen: number[] = [];
    for (const color of all)
      if (chosen.length <= 256 && chosen.every((other) => distance(color, other) > apart)) chosen.push(color);
    if (chosen.length <= 256) return chosen;
  }
}

const distance = (a: number, b: number): number => {
  const [x = 0, y = 0, z = 0] = channels(a);
  const [r = 0, g = 0, h = 0] = channels(b);
  return Math.hypot(x - r, y - g, z - h);
};

function nearest(color: number, colors: readonly number[]): number {
  const distances = colors.map((other) => distance(color, other));
  return distances.indexOf(Math.min(...distances));
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  framed.set(body, 4);
  framed.writeUInt32BE(zlib.crc32(body), body.length + 4);
  return framed;
}
