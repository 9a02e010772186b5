// The module "k6/experimental/fs".
declare const globalThis: any;
const k6 = globalThis.__k6;

export const SeekMode = { Start: 0, Current: 1, End: 2 };

/** A file that was read when it was opened. */
export class File {
  path: string;
  #bytes: Uint8Array;
  #at = 0;

  constructor(path: string, bytes: ArrayBuffer) {
    this.path = path;
    this.#bytes = new Uint8Array(bytes);
  }

  async stat(): Promise<{ name: string; size: number }> {
    return { name: this.path.slice(this.path.lastIndexOf("/") + 1), size: this.#bytes.length };
  }

  /** The number of bytes read, or `null` at the end. */
  async read(buffer: Uint8Array): Promise<number | null> {
    if (!(buffer instanceof Uint8Array)) throw new TypeError("file.read(…) expects a Uint8Array");
    if (buffer.length === 0) return 0;
    const piece = this.#bytes.subarray(this.#at, this.#at + buffer.length);
    if (piece.length === 0) return null;
    buffer.set(piece);
    this.#at += piece.length;
    return piece.length;
  }

  async seek(offset: number, whence: number): Promise<number> {
    const from = whence === SeekMode.Start ? 0 : whence === SeekMode.Current ? this.#at : whence === SeekMode.End ? this.#bytes.length : undefined;
    if (from === undefined) throw new TypeError("file.seek(…) expects a SeekMode");
    const to = from + Number(offset);
    if (!(to >= 0 && to <= this.#bytes.length)) throw new RangeError(`file.seek(…): ${to} is outside of the file`);
    this.#at = to;
    return to;
  }

  /** For "k6/experimental/csv": the text from the present position on. */
  get __rest(): string {
    return k6.text(this.#bytes.slice(this.#at).buffer);
  }
}

export async function open(path: string): Promise<File> {
  return new File(String(path), k6.open(String(path), true));
}

export default { open, SeekMode };
