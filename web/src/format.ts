// SPDX-License-Identifier: Apache-2.0
// Numbers, times and estimates as text.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
export const MINUS = "\u2212";

function digits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function bytes(value: number): string {
  let size = Math.abs(value);
  let unit = 0;
  while (size >= 1023.5 && unit < UNITS.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${value < 0 ? MINUS : ""}${unit === 0 ? size.toFixed(0) : digits(size)} ${UNITS[unit]}`;
}

export function count(value: number): string {
  const size = Math.abs(value);
  const sign = value < 0 ? MINUS : "";
  if (size < 10000) {
    return sign + (size < 100 && size % 1 !== 0 ? size.toFixed(1) : Math.round(size).toLocaleString("en"));
  }
  const power = Math.min(4, Math.floor(Math.log10(size) / 3));
  return `${sign}${digits(size / 1000 ** power)}${["", "k", "M", "G", "T"][power]}`;
}

const WRITTEN: { [unit: string]: (value: number) => string } = {
  bytes, "bytes/s": (value) => `${bytes(value)}/s`, "byte-seconds": (value) => `${bytes(value)}·s`, seconds: duration, ratio: percent,
};

/** A value in UNIT: a kind of bytes, or a count. */
export function quantity(value: number, unit: string): string {
  return (WRITTEN[unit] ?? count)(value);
}

export function signed(value: number, unit: string): string {
  return (value > 0 ? "+" : "") + quantity(value, unit);
}

export function percent(share: number): string {
  const value = share * 100;
  if (!Number.isFinite(value)) {
    return "";
  }
  const size = Math.abs(value);
  const text = size !== 0 && size < 0.05 ? "<0.1" : size < 99.95 ? size.toFixed(1) : size.toFixed(0);
  return `${value < 0 ? MINUS : ""}${text} %`;
}

export function duration(seconds: number): string {
  const rounded = Math.round(seconds);
  if (seconds < 10 && seconds % 1 !== 0) {
    return `${seconds.toFixed(1)} s`;
  }
  const parts: [number, string][] = [[86400, "d"], [3600, "h"], [60, "min"]];
  for (const [size, unit] of parts) {
    if (rounded >= size) {
      const rest = Math.floor((rounded % size) / (size === 86400 ? 3600 : size === 3600 ? 60 : 1));
      const below = size === 86400 ? "h" : size === 3600 ? "min" : "s";
      return `${Math.floor(rounded / size)} ${unit}${rest ? ` ${rest} ${below}` : ""}`;
    }
  }
  return `${rounded} s`;
}

const pad = (number: number): string => String(number).padStart(2, "0");

/** SECONDS since 1970, in the time zone of the reader. */
export function clock(seconds: number): string {
  const time = new Date(seconds * 1000);
  return `${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}`;
}

export function moment(seconds: number): string {
  const time = new Date(seconds * 1000);
  return `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())} ${clock(seconds)}`;
}

export function ago(seconds: number): string {
  const past = Date.now() / 1000 - seconds;
  return past < 2 ? "now" : `${duration(past)} ago`;
}
