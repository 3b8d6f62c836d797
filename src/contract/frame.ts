/**
 * One unit of a stream on a wire: a server-sent event, or a line of JSON, which has only `data`. Clients ignore a frame
 * that has only a `comment`.
 */
export interface Frame {
  event?: string;
  data?: string;
  id?: string;
  comment?: string;
}
