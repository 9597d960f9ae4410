function u(n,e,r){switch(n){case"ArrowDown":return(e+1)%r;case"ArrowUp":return(e<=0?r:e)-1;case"Home":return 0;case"End":return r-1}}export{u as a};
