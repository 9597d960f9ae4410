import"./chunk-NRCAJOGQ.js";import"./chunk-ZBN7Z26R.js";import"./chunk-UPRQN37W.js";import"./chunk-BGNVVPNI.js";import"./chunk-KP4G2P5C.js";
