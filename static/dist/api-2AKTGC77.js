import"./chunk-PCBWRG3K.js";import"./chunk-6GJM2L4T.js";import"./chunk-UPRQN37W.js";import"./chunk-BGNVVPNI.js";import"./chunk-KP4G2P5C.js";
