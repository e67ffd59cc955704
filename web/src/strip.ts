// SPDX-License-Identifier: Apache-2.0
// The boxes of a flame graph as lines of pixels: each is the top line of its level, which the browser stretches to the
// level's height.
// A level costs as many pixels as it is wide, however many boxes it has and however high they are.

/** A colour as stored in a canvas: four bytes, red first. */
export type Pixel = number;

export const CLEAR: Pixel = 0;

function pack(red: number, green: number, blue: number): Pixel {
  return (255 << 24 | Math.round(blue) << 16 | Math.round(green) << 8 | Math.round(red)) >>> 0;
}

/** Degrees and two percentages, like CSS hsl(). */
export function hsl(hue: number, saturation: number, light: number): Pixel {
  const share = light / 100;
  const reach = saturation / 100 * Math.min(share, 1 - share);
  const channel = (n: number): number => {
    const k = (n + hue / 30) % 12;
    return 255 * (share - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return pack(channel(0), channel(8), channel(4));
}

/** Parses "#rrggbb". */
export function hex(text: string): Pixel {
  const value = parseInt(text.slice(1), 16);
  return pack(value >> 16, value >> 8 & 255, value & 255);
}

/** Blends COLOUR over BACK with this opacity. */
export function mix(colour: Pixel, back: Pixel, share: number): Pixel {
  const part = (shift: number): number => (colour >>> shift & 255) * share + (back >>> shift & 255) * (1 - share);
  return pack(part(0), part(8), part(16));
}

/** LINES lines of WIDTH pixels. */
export class Strip {
  private readonly canvas = document.createElement("canvas");
  private pixels = new Uint32Array(0);
  private width = 0;

  /** Fills everything with COLOUR. */
  begin(width: number, lines: number, colour: Pixel): void {
    if (this.pixels.length !== width * lines || this.width !== width) {
      this.pixels = new Uint32Array(width * lines);
      this.canvas.width = width;
      this.canvas.height = lines;
    }
    this.width = width;
    this.pixels.fill(colour);
  }

  fill(line: number, begin: number, end: number, colour: Pixel): void {
    const from = Math.max(0, begin), to = Math.min(this.width, end);
    if (from < to) {
      this.pixels.fill(colour, line * this.width + from, line * this.width + to);
    }
  }

  /** Must be called after the last fill() and before the first stretch(). */
  finish(): void {
    if (this.pixels.length > 0) {
      this.canvas.getContext("2d")?.putImageData(new ImageData(new Uint8ClampedArray(this.pixels.buffer), this.width), 0, 0);
    }
  }

  /** Draws LINE from Y on, HEIGHT pixels high. Transparent pixels leave the background as it is. */
  stretch(pen: CanvasRenderingContext2D, line: number, y: number, height: number): void {
    pen.drawImage(this.canvas, 0, line, this.width, 1, 0, y, this.width, height);
  }
}
