import"./chunk-5MDSIM2J.js";import"./chunk-ZBN7Z26R.js";import"./chunk-Z5TS2T4A.js";import"./chunk-OUBXMFQB.js";import"./chunk-BGNVVPNI.js";import"./chunk-76F6MBJT.js";import"./chunk-GHNQWMCC.js";
