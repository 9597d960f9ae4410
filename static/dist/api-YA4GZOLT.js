import"./chunk-BDLBDZJE.js";import"./chunk-VLIYFAZR.js";import"./chunk-D6NPLGII.js";import"./chunk-KP4G2P5C.js";
