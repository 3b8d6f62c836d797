/** One sentence about the program for lists of packages. */
export const DESCRIPTION = "Gateway that lets every coding agent, editor and SDK use open models";
