function n(e){let t=document.getElementById("live");t&&(t.textContent="",requestAnimationFrame(()=>t.textContent=e))}export{n as a};
